// Times one output after another as MAD's authors did for figure 8, in our own
// words: Eigen, double precision, and matrices stored by columns in which an
// entry is a row, so its numbers are T apart. Random numbers have no seed, so
// all builds have the same. MoChA's appendix B calls its benchmark analogous:
// its step is here too. measure.py builds and runs it.
//
// This is C++98, and of Eigen it needs only what 3.1 has.
#include <Eigen/Dense>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <string>

using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

// What the steps of one sequence share.
struct Sequence {
  MatrixXd x;  // [T, N], an entry of the memory a row
  MatrixXd s;  // [U, N], the state of an output a row
  int w;       // rows of MoChA's window
  int j;       // the row where the scan stands
  VectorXd energies;
  VectorXd attention;
  VectorXd context;
};

// Draws x before s.
Sequence Draw(int T, int U, int N, int w) {
  Sequence drawn;
  drawn.x = MatrixXd::Random(T, N);
  drawn.s = MatrixXd::Random(U, N);
  drawn.w = w;
  drawn.j = 0;
  return drawn;
}

// The weights of eq 2, from energies to attention.
void Softmax(Sequence& of) {
  of.energies.array() -= of.energies.maxCoeff();
  of.attention = of.energies.array().exp();
  of.attention /= of.attention.sum();
}

void SoftStep(int i, Sequence& of) {
  of.energies = of.x * of.s.row(i).transpose();
  Softmax(of);
  of.context = (of.x.array().colwise() * of.attention.array()).colwise().sum();
}

// The last row is taken without an energy.
void Scan(int i, Sequence& of) {
  for (; of.j < of.x.rows() - 1; ++of.j) {
    const double energy = of.x.row(of.j) * of.s.row(i).transpose();
    if (energy >= 0) return;
  }
}

void MonotonicStep(int i, Sequence& of) {
  Scan(i, of);
  of.context = of.x.row(of.j);
}

// The softmax is over the w rows that end where the scan stopped; there are
// fewer at the start.
void ChunkStep(int i, Sequence& of) {
  Scan(i, of);
  const int num = of.j + 1 < of.w ? of.j + 1 : of.w;
  const int first = of.j + 1 - num;
  of.energies = of.x.middleRows(first, num) * of.s.row(i).transpose();
  Softmax(of);
  of.context =
      (of.x.middleRows(first, num).array().colwise() * of.attention.array())
          .colwise()
          .sum();
}

typedef void (*Step)(int i, Sequence& of);

double Seconds(Step step, int num_trials, Sequence& of) {
  const std::clock_t begin = std::clock();
  for (int trial = 0; trial < num_trials; ++trial) {
    of.j = 0;
    for (int i = 0; i < of.s.rows(); ++i) step(i, of);
  }
  return double(std::clock() - begin) / CLOCKS_PER_SEC;
}

// Prints x, s and the contexts, a row a line.
void PrintAll(Step step, Sequence& of) {
  const Eigen::IOFormat rows(17, Eigen::DontAlignCols, " ", "\n");
  std::cout << of.x.format(rows) << "\n" << of.s.format(rows) << "\n";
  for (int i = 0; i < of.s.rows(); ++i) {
    step(i, of);
    std::cout << of.context.transpose().format(rows) << "\n";
  }
}

int Fail(const std::string& what) {
  std::cerr << "attention: " << what
            << "\nusage: attention soft|monotonic|mocha T U N TRIALS [W]\n"
               "prints seconds of processor time; with 0 trials x, s and the "
               "contexts\nexample: attention mocha 100 100 256 100 8\n";
  return 2;
}

// Whether the text is a number from `least` on that an entry of a matrix may
// count.
bool Parse(const char* text, long least, int* number) {
  char* end = 0;
  errno = 0;
  const long parsed = std::strtol(text, &end, 10);
  *number = int(parsed);
  return end != text && *end == '\0' && errno == 0 && parsed >= least &&
         parsed <= 1000000;
}

}  // namespace

int main(int argc, char* argv[]) {
  if (argc < 2) return Fail("MECHANISM is missing");
  const std::string mechanism = argv[1];
  const bool has_window = mechanism == "mocha";
  if (!has_window && mechanism != "soft" && mechanism != "monotonic") {
    return Fail("MECHANISM is " + mechanism +
                ", it must be soft, monotonic or mocha");
  }
  const int num_numbers = has_window ? 5 : 4;
  if (argc != 2 + num_numbers) {
    return Fail(mechanism + " takes T U N TRIALS" + (has_window ? " W" : ""));
  }
  const char* const names[] = {"T", "U", "N", "TRIALS", "W"};
  int numbers[] = {0, 0, 0, 0, 1};
  for (int k = 0; k < num_numbers; ++k) {
    const long least = k == 3 ? 0 : 1;
    if (!Parse(argv[2 + k], least, &numbers[k])) {
      return Fail(std::string(names[k]) + " is " + argv[2 + k] +
                  ", it must be a whole number from " + (least ? "1" : "0") +
                  " to 1000000");
    }
  }
  Sequence sequence = Draw(numbers[0], numbers[1], numbers[2], numbers[4]);
  const Step step = has_window            ? ChunkStep
                    : mechanism == "soft" ? SoftStep
                                          : MonotonicStep;
  if (numbers[3] == 0) {
    PrintAll(step, sequence);
  } else {
    std::cout << Seconds(step, numbers[3], sequence) << "\n";
  }
  return 0;
}
