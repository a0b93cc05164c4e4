#include "harness/stability/peers.h"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "harness/stability/errors.h"
#include "harness/stability/stability.h"
#include "harness/stats/statistics.h"
#include "mechanisms/registry.h"

namespace attnbench {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

struct Reported {
  const char* preset;
  double attention_error;
  double mass_error;
};

struct Setting {
  const char* test;
  const char* family;
  Index memory_length;
  Index output_length;
  std::vector<Reported> reported;
  bool spread_start = false;  // the first output only spreads the start
};

// p(j) = 1 / (T - j), j from 0: its attention is uniform over the memory, by
// every closed form but an inclusive one.
void SpreadStart(Table<float>& p) {
  for (Index j = 0; j < p.cols; ++j) {
    p.view()(0, j) = 1 / static_cast<float>(p.cols - j);
  }
}

// Three presets with eps = 1e-6 share one figure.
std::vector<Reported> ReportedOfShort() {
  return {{"tf", 3e-2, 6e-2},
          {"nsp", .15, .49},
          {"fsq", .15, .49},
          {"fsq_op", .15, .49},
          {"jmin", .14, .30}};
}

std::vector<Setting> Settings() {
  return {{"p uniform, T = 20, U = 1, previous at 1", "uniform", 20, 1,
           ReportedOfShort()},
          {"p uniform, T = 20, U = 1, previous uniform", "uniform", 20, 2,
           ReportedOfShort(), true},
          {"p uniform, T = 200, U = 50",
           "uniform",
           200,
           50,
           {{"tf", .40, 1},
            {"nsp", .40, 1},
            {"fsq", .40, 1},
            {"fsq_op", .40, 1},
            {"jmin", kNaN, kNaN}}},
          {"p = sigmoid(N(-4, 1)), T = 1000, U = 20",
           "recommended",
           1000,
           20,
           {{"tf", 1.3e-2, .21},
            {"nsp", 6.6e-2, .88},
            {"fsq", 6.6e-2, .88},
            {"fsq_op", 6.6e-2, .88},
            {"jmin", 9e-2, .59}}},
          {"p = sigmoid(8 N), T = 100, U = 20",
           "sharpness_8",
           100,
           20,
           {{"tf", .95, 1},
            {"nsp", .97, 1},
            {"fsq", .97, 1},
            {"fsq_op", .97, 1},
            {"jmin", kNaN, kNaN}}}};
}

StabilityPeer PeerRow(const std::string& test, const std::string& preset,
                      const std::string& quantity, std::vector<double> values,
                      std::int64_t not_finite, double reported) {
  StabilityPeer row = {.test = test,
                       .preset = preset,
                       .quantity = quantity,
                       .draws = std::ssize(values) + not_finite,
                       .not_finite = not_finite,
                       .reported = StabilityNumber(reported)};
  if (values.empty()) return row;
  std::ranges::sort(values);
  row.least = StabilityNumber(values.front());
  row.median = StabilityNumber(Median(values));
  row.largest = StabilityNumber(values.back());
  return row;
}

void AddSetting(const Setting& setting, std::uint64_t seed, int draws,
                std::vector<StabilityPeer>& rows) {
  const StabilityPoint point{.mechanism = "monotonic",
                             .family = setting.family,
                             .memory_length = setting.memory_length,
                             .output_length = setting.output_length};
  std::vector<std::vector<StabilityRow>> measured;
  for (int n = 0; n < draws; ++n) {
    StabilityScores scores = DrawStabilityScores(
        point, FindMechanism<double>(point.mechanism)->Describe(), seed,
        static_cast<std::uint32_t>(n));
    if (setting.spread_start) SpreadStart(scores.at("p_choose"));
    measured.push_back(MeasureStabilityScores(point, scores));
  }
  for (const Reported& of : setting.reported) {
    const auto add = [&](const char* quantity, Figure StabilityRow::*figure,
                         double reported) {
      std::vector<double> values;
      std::int64_t not_finite = 0;
      for (const std::vector<StabilityRow>& draw : measured) {
        const auto row = std::ranges::find_if(draw, [&](const auto& one) {
          return one.preset == of.preset && one.precision == Precision::kF32;
        });
        ATTN_CHECK(row != draw.end());
        const Figure value = (*row).*figure;
        if (value) values.push_back(*value);
        not_finite += value ? 0 : 1;
      }
      rows.push_back(PeerRow(setting.test, of.preset, quantity, values,
                             not_finite, reported));
    };
    add("attention_error", &StabilityRow::attention_error, of.attention_error);
    add("mass_error", &StabilityRow::mass_error, of.mass_error);
  }
}

// The alpha(place) of the second output, in f32, if the first output chose
// entry `start` for certain.
double SecondOutput(const std::string& preset, const std::vector<float>& p,
                    std::size_t start, std::size_t place) {
  const auto T = static_cast<Index>(p.size());
  std::vector<float> both(2 * p.size(), 0);
  both[start] = 1;
  std::ranges::copy(p, both.begin() + T);
  Sequence<float> sequence;
  sequence.inputs.scores.Set("p_choose", {both.data(), 2, T});
  const Mechanism<float>& mechanism = *FindMechanism<float>("monotonic");
  std::vector<float> attention(both.size());
  Expectation<float> out;
  out.attention = {attention.data(), 2, T};
  for (const StabilitySubject& subject :
       StabilitySubjects(mechanism.Describe(), Mode::kExpect)) {
    if (subject.preset != preset) continue;
    mechanism.Expect(subject.config, sequence, out);
    return out.attention(1, static_cast<Index>(place));
  }
  ATTN_CHECK(false);
  return 0;
}

struct SharpTest {
  const char* test;
  std::vector<float> p;
  std::size_t start;
  std::size_t place;
  const char* preset;
  double reported;
};

std::vector<SharpTest> SharpTests() {
  const std::vector<float> halves(40, 0.5F);
  const std::vector<float> ones = {0, 0, 1, 0, 0, 1, 0, 0};
  const char* half = "p = 0.5, T = 40, previous at 36: alpha(36), exact 0.5";
  const char* one = "p = 0,0,1,0,0,1,0,0, previous at 5: alpha(6), exact 1";
  return {{half, halves, 35, 35, "tf", .1455},
          {half, halves, 35, 35, "nsp", 1.455e-5},
          {one, ones, 4, 5, "tf", 1e-28},
          {one, ones, 4, 5, "fsq_op", 0},
          {one, ones, 4, 5, "mad2017", 1}};
}

}  // namespace

std::vector<StabilityPeer> MeasurePeers(std::uint64_t seed, int draws) {
  std::vector<StabilityPeer> rows;
  for (const Setting& setting : Settings()) {
    AddSetting(setting, seed, draws, rows);
  }
  for (const SharpTest& test : SharpTests()) {
    const double alpha =
        SecondOutput(test.preset, test.p, test.start, test.place);
    rows.push_back(PeerRow(test.test, test.preset, "attention", {alpha}, 0,
                           test.reported));
  }
  return rows;
}

}  // namespace attnbench
