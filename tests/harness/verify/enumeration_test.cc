// Guards against outcomes of the sampled process that are left out or counted
// twice, and against defects of training that are too small for sampling and
// pass.
#include "harness/verify/enumeration.h"

#include <gtest/gtest.h>

#include "harness/verify/verify.h"
#include "spoiled_mechanism.h"

namespace attnbench {
namespace {

using testing::MakeCase;
using testing::Renormalize;
using testing::Spoil;
using testing::SpoiledMechanism;

CaseReport Enumerate(const VerifyCase& one, const Spoil& spoil = {}) {
  const SpoiledMechanism mechanism(one.mechanism, spoil);
  std::vector<CaseReport> reports = {RunVerifyCase(mechanism, one, {})};
  JudgeAll(1e-6, reports);
  return reports[0];
}

// The names of the quantities that did not pass.
std::vector<std::string> Failed(const CaseReport& report) {
  std::vector<std::string> failed;
  for (const Quantity& quantity : report.quantities) {
    if (!quantity.passed()) failed.push_back(quantity.what());
  }
  return failed;
}
using Names = std::vector<std::string>;

VerifyCase Small(const std::string& mechanism, Index T, Index U,
                 EndPolicy end = EndPolicy::kAbsorb) {
  VerifyCase one = MakeCase(mechanism, VerifyMethod::kEnumeration, T, U);
  one.config.end = end;
  return one;
}

TEST(Enumeration, GoesThroughEveryOutcomeOnce) {
  // There are two entries and two outputs. From entry 1 an output chooses 1, 2
  // or none; from entry 2, 2 or none; after none, none.
  EXPECT_EQ(Enumerate(Small("monotonic", 2, 2)).trials, 3 + 2 + 1);
  // Once the first entry is passed, only the last one is left.
  EXPECT_EQ(Enumerate(Small("monotonic", 2, 2, EndPolicy::kStayLast)).trials,
            2 + 1);
  // After none an output starts again at entry 1.
  EXPECT_EQ(Enumerate(Small("monotonic", 2, 2, EndPolicy::kRestart)).trials,
            3 + 2 + 3);
  EXPECT_EQ(Enumerate(Small("monotonic", 1, 1)).trials, 2);
}

TEST(Enumeration, PassesWhatIsRight) {
  for (const char* mechanism : {"monotonic", "mocha"}) {
    for (const EndPolicy end :
         {EndPolicy::kAbsorb, EndPolicy::kStayLast, EndPolicy::kRestart}) {
      for (const char* scores : {"uniform", "saturated", "adversarial"}) {
        VerifyCase one = Small(mechanism, 3, 3, end);
        one.scores = scores;
        const CaseReport report = Enumerate(one);
        EXPECT_TRUE(report.passed()) << report.Text();
      }
    }
  }
}

TEST(Enumeration, SeesMassThatIsRenormalized) {
  const CaseReport report =
      Enumerate(Small("monotonic", 3, 2),
                {.expectation = [](const Expectation<double>& out) {
                  Renormalize(out.attention);
                }});
  EXPECT_EQ(Failed(report), Names({"attention"}));
  EXPECT_EQ(report.Worst()->what(), "attention");
}

TEST(Enumeration, SeesAnErrorOfAMillionthOfAMillionth) {
  const CaseReport report =
      Enumerate(Small("monotonic", 3, 2),
                {.expectation = [](const Expectation<double>& out) {
                  if (out.selection.data != nullptr) {
                    out.selection(1, 2) += 2e-12;
                  }
                }});
  EXPECT_EQ(Failed(report), Names({"selection"}));
  EXPECT_EQ(report.Worst()->worst().row, 1);
  EXPECT_EQ(report.Worst()->worst().column, 2);
}

TEST(Enumeration, SeesAWindowThatIsOffByOne) {
  VerifyCase one = Small("mocha", 4, 2);
  for (const Index width : {1, 3}) {
    const CaseReport report =
        Enumerate(one, {.config = [width](Config& config) {
                    config.options["chunk_width"] = width;
                  }});
    EXPECT_FALSE(report.passed()) << width;
    EXPECT_EQ(Failed(report).front(), "attention");
  }
}

TEST(Enumeration, SeesAGradientTermThatWasDropped) {
  const VerifyCase one = Small("mocha", 3, 2);
  const CaseReport choice =
      Enumerate(one, {.gradients = [](const Gradients<double>& gradients) {
                  gradients.scores.Find("p_choose")(0, 1) *= 1 - 1e-9;
                }});
  EXPECT_EQ(Failed(choice), Names({"gradient of p_choose"}));
  const CaseReport chunk =
      Enumerate(one, {.gradients = [](const Gradients<double>& gradients) {
                  gradients.scores.Find("chunk_energies")(1, 0) = 0;
                }});
  EXPECT_EQ(Failed(chunk), Names({"gradient of chunk_energies"}));
  const CaseReport memory =
      Enumerate(one, {.gradients = [](const Gradients<double>& gradients) {
                  std::swap(gradients.memory(0, 0), gradients.memory(0, 1));
                }});
  EXPECT_EQ(Failed(memory), Names({"gradient of memory"}));
}

TEST(Enumeration, SeesGradientsOfScoresWhereNothingIsRandom) {
  const VerifyCase soft = MakeCase("soft", VerifyMethod::kExact, 4, 3);
  EXPECT_TRUE(Enumerate(soft).passed()) << Enumerate(soft).Text();
  EXPECT_EQ(Failed(Enumerate(soft, {.gradients =
                                        [](const Gradients<double>& out) {
                                          out.scores.Find("energies")(2, 3) +=
                                              2e-6;
                                        }})),
            Names({"gradient of energies"}));
  const VerifyCase memory = MakeCase("memory", VerifyMethod::kExact, 4, 3);
  EXPECT_TRUE(Enumerate(memory).passed()) << Enumerate(memory).Text();
  EXPECT_EQ(Failed(Enumerate(memory, {.gradients =
                                          [](const Gradients<double>& out) {
                                            out.scores.Find("encoder_scores")(
                                                3, 2) = 0;
                                          }})),
            Names({"gradient of encoder_scores"}));
}

TEST(Enumeration, SeesNotANumber) {
  const CaseReport report =
      Enumerate(Small("monotonic", 3, 2),
                {.expectation = [](const Expectation<double>& out) {
                  out.attention(1, 1) = std::nan("");
                }});
  EXPECT_FALSE(report.passed());
  EXPECT_EQ(report.Worst()->worst().row, 1) << report.Text();
}

}  // namespace
}  // namespace attnbench
