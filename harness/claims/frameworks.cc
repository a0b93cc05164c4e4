#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>

#include "harness/claims/computed.h"
#include "harness/system/child_process.h"
#include "harness/system/python.h"
#include "harness/system/source_tree.h"

namespace attnbench {
namespace {

using Vector = std::vector<double>;

// Asks a script of experiments/peers for a line; none if it cannot answer.
std::optional<std::string> Ask(const std::string& script, const Json& question,
                               std::string& why) {
  constexpr std::chrono::seconds kLimit{60};
  const std::string path =
      FindInSources("claims", "experiments/peers/" + script);
  ChildProcess process(
      {.arguments = {"/usr/bin/env", FindPython("claims", {"torch"}), path},
       .environment = PythonEnvironment()});
  const auto deadline = ChildProcess::Clock::now() + kLimit;
  process.Send(question.dump() + "\n", deadline);
  std::optional<std::string> answer = process.ReadLine(deadline);
  if (!answer) {
    why = process.HasEnded() ? "no answer of the framework"
                             : fmt::format(
                                   "no answer of the framework within "
                                   "{} s",
                                   kLimit.count());
    process.Kill();
  }
  process.Stop();
  if (!answer) why += ": " + process.LastWords();
  return answer;
}

// The row that `make` gives of the script's answer, or one without a number.
template <class Answer>
ComputedRows OfFramework(const std::string& script, const Json& question,
                         const std::function<double(const Answer&)>& make) {
  std::string why;
  const std::optional<std::string> line = Ask(script, question, why);
  if (!line) {
    ComputedRow row({}, std::nan(""));
    row.why = why;
    return {row};
  }
  const auto answer = FromJson<Answer>(ParseMessage(*line), script);
  return {ComputedRow({{"framework", answer.framework}}, make(answer))};
}

// ---- cumulative products ----------------------------------------------------

// The gradient of the sum of all out(i) = prod over n <= i of x(n), as
// TensorFlow makes it: element k is the sum of all products from k on, over
// x(k).
Vector ByDivision(const Vector& x) {
  Vector gradient(x);
  std::partial_sum(x.begin(), x.end(), gradient.begin(), std::multiplies<>());
  std::partial_sum(gradient.rbegin(), gradient.rend(), gradient.rbegin());
  for (std::size_t k = 0; k < x.size(); ++k) gradient[k] /= x[k];
  return gradient;
}

Vector ByProductOfOthers(const Vector& x) {
  Vector gradient(x.size());
  for (std::size_t k = 0; k < x.size(); ++k) {
    double product = 1;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (i != k) product *= x[i];
      if (i >= k) gradient[k] += product;
    }
  }
  return gradient;
}

struct CumprodCase {
  Vector x = {}, gradient = {};

  static void Fields(auto& self, auto& visit) {
    visit("x", self.x);
    visit("gradient", self.gradient);
  }
};

struct CumprodCases {
  std::vector<CumprodCase> cases = {};

  static void Fields(auto& self, auto& visit) { visit("cases", self.cases); }
};

struct CumprodInputs : CumprodCases {
  std::vector<std::string> algorithms = {};

  static void Fields(auto& self, auto& visit) {
    CumprodCases::Fields(self, visit);
    visit("algorithms", self.algorithms,
          Rule{.one_of = {"division", "product_of_others"}});
  }
};

// Inputs and gradients are small whole numbers, which have no rounding.
double CountWrong(const Vector& found, const Vector& right) {
  double wrong = found.size() == right.size() ? 0 : 1;
  for (std::size_t k = 0; k < std::min(found.size(), right.size()); ++k) {
    wrong += found[k] == right[k] ? 0 : 1;
  }
  return wrong;
}

ComputedRows CumprodGradientWrong(const CumprodInputs& inputs,
                                  std::uint64_t /*seed*/) {
  ComputedRows rows;
  for (const std::string& algorithm : inputs.algorithms) {
    auto* const by = algorithm == "division" ? ByDivision : ByProductOfOthers;
    double wrong = 0;
    for (const auto& [x, gradient] : inputs.cases) {
      wrong += CountWrong(by(x), gradient);
    }
    rows.push_back(ComputedRow({{"algorithm", algorithm}}, wrong));
  }
  return rows;
}

// The answer of cumprod.py. A number that is not finite is none.
struct CumprodAnswer {
  std::string framework = {};
  std::vector<std::vector<std::optional<double>>> gradients = {};

  static void Fields(auto& self, auto& visit) {
    visit("framework", self.framework);
    visit("gradients", self.gradients);
  }
};

ComputedRows CumprodGradientOfFramework(const CumprodCases& inputs,
                                        std::uint64_t /*seed*/) {
  const auto count_wrong = [&](const CumprodAnswer& answer) {
    double wrong = 0;
    for (std::size_t n = 0; n < inputs.cases.size(); ++n) {
      Vector gradient;
      if (n < answer.gradients.size()) {
        for (const auto& value : answer.gradients[n]) {
          gradient.push_back(value.value_or(std::nan("")));
        }
      }
      wrong += CountWrong(gradient, inputs.cases[n].gradient);
    }
    return wrong;
  };
  return OfFramework<CumprodAnswer>("cumprod.py", ToJson(inputs.cases),
                                    count_wrong);
}

// ---- what a gradient keeps --------------------------------------------------

struct KeptInputs {
  std::string against = {};
  std::vector<Index> memory_length = {}, output_length = {};

  static void Fields(auto& self, auto& visit) {
    visit("against", self.against,
          Rule{.one_of = {"memory_length", "output_length"}});
    const auto lengths = [&](const char* axis) {
      Rule rule{.minimum = 1, .min_items = 2};
      if (self.against != axis) rule.min_items = *(rule.max_items = 1);
      return rule;
    };
    visit("memory_length", self.memory_length, lengths("memory_length"));
    visit("output_length", self.output_length, lengths("output_length"));
  }
};

// The answer of matcha_bytes.py: for each pair of lengths, those of the memory
// outside.
struct KeptAnswer {
  std::string framework = {};
  std::vector<double> bytes = {};

  static void Fields(auto& self, auto& visit) {
    visit("framework", self.framework);
    visit("bytes", self.bytes);
  }
};

// The slope of the least-squares line through the logarithms.
double Exponent(const std::vector<Index>& lengths, const Vector& values) {
  const auto n = static_cast<double>(lengths.size());
  double x_mean = 0;
  for (const Index length : lengths) {
    x_mean += std::log(static_cast<double>(length)) / n;
  }
  double xx = 0;
  double xy = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const double x = std::log(static_cast<double>(lengths[i])) - x_mean;
    xx += x * x;
    xy += x * std::log(values.at(i));
  }
  return xy / xx;
}

ComputedRows MatchaBytesExponent(const KeptInputs& inputs,
                                 std::uint64_t /*seed*/) {
  const Json question = {{"memory_length", inputs.memory_length},
                         {"output_length", inputs.output_length}};
  return OfFramework<KeptAnswer>(
      "matcha_bytes.py", question, [&](const KeptAnswer& answer) {
        return Exponent(inputs.against == "memory_length"
                            ? inputs.memory_length
                            : inputs.output_length,
                        answer.bytes);
      });
}

constexpr NamedQuantity kFrameworkQuantities[] = {
    {"cumprod_gradient_wrong", Reads<CumprodGradientWrong>},
    {"cumprod_gradient_of_framework", Reads<CumprodGradientOfFramework>},
    {"matcha_bytes_exponent", Reads<MatchaBytesExponent>}};

}  // namespace

std::span<const NamedQuantity> FrameworkQuantities() {
  return kFrameworkQuantities;
}

}  // namespace attnbench
