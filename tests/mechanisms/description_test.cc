// Guards against a mechanism whose declared inputs do not fit together getting
// as far as a case file or a sweep, and against variants that are not told
// apart.
#include "mechanisms/description.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mechanisms/energy/energy.h"
#include "mechanisms/registry.h"

namespace attnbench {
namespace {

using ::testing::HasSubstr;

Description Newcomer() {
  return {
      .name = "newcomer",
      .axes = {"energy"},
      .options = {{.name = "num_contexts", .default_value = std::int64_t{2}}},
      .scores = {{{.name = "gates", .shape = "UK"}}},
      .further = {{.name = "keys_of_heads", .shape = "Td"}}};
}

std::string Refusal(const std::vector<Description>& all) {
  std::vector<const Description*> pointers;
  for (const Description& one : all) pointers.push_back(&one);
  try {
    CheckDescriptions(pointers);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "none";
}

TEST(Config, AnOptionThatIsReadInAnotherTypeIsNamedWithBoth) {
  const Config config = DefaultConfig(Newcomer(), Mode::kDecode);
  EXPECT_EQ(config.Option<Index>("num_contexts"), 2);
  EXPECT_DEATH(config.Option<double>("num_contexts"),
               "option num_contexts is a whole number, but is read as a "
               "number");
  EXPECT_DEATH(config.Option<bool>("contexts"), "there is no option contexts");
}

TEST(Description, OfEveryMechanismFitsTogether) {
  std::vector<Description> all = {Newcomer()};
  for (const auto* mechanism : Mechanisms<float>()) {
    all.push_back(mechanism->Describe());
  }
  EXPECT_EQ(Refusal(all), "none");
}

TEST(Description, WhoseInputsDoNotFitTogetherIsRefusedByName) {
  const struct {
    std::vector<std::vector<InputSpec>> scores;
    std::vector<InputSpec> further;
    const char* message;
  } wrong[] = {
      {{{{.name = "", .shape = "UT"}}}, {}, "an input has no name"},
      {{{{.name = "states", .shape = "Ud"}}},
       {},
       "input 'states' has a taken name"},
      {{{{.name = "gates", .shape = "UX"}}},
       {},
       "input 'gates' has shape 'UX'; expected two of the letters"},
      {{{{.name = "gates", .shape = "UTd"}}}, {}, "has shape 'UTd'"},
      {{{{.name = "gates", .shape = ""}}}, {}, "has shape ''"},
      {{{{.name = "gates", .shape = "UT"}, {.name = "gates", .shape = "UT"}}},
       {},
       "input 'gates' is declared twice"},
      {{{{.name = "gates", .shape = "UT"}}},
       {{.name = "gates", .shape = "UT"}},
       "input 'gates' is declared twice"},
      {{{}}, {}, "a list of its scores is empty"},
      {{}, {{.name = "keys", .shape = "TK"}}, "input 'keys' has a length K"},
  };
  for (const auto& [scores, further, message] : wrong) {
    Description about = Newcomer();
    about.scores = scores;
    about.further = further;
    const std::string refusal = Refusal({about});
    EXPECT_THAT(refusal, HasSubstr("mechanism 'newcomer': "));
    EXPECT_THAT(refusal, HasSubstr(message));
  }
}

TEST(Description, ThatHasNoEnergiesCannotHaveAnInputOfOne) {
  Description about = Newcomer();
  about.further = {kChunkKeysInput};
  EXPECT_EQ(Refusal({about}), "none");
  about.axes = {};
  EXPECT_THAT(Refusal({about}), HasSubstr("does not have the axis energy"));
}

// A case file must mean the same to both mechanisms.
TEST(Description, ThatDeclaresAnInputOfAnotherDifferentlyIsRefused) {
  Description about = Newcomer();
  about.scores = {{{.name = "energies", .shape = "UK"}}};
  EXPECT_THAT(Refusal({FindMechanism<float>("soft")->Describe(), about}),
              HasSubstr("mechanism 'newcomer': input 'energies' is not "
                        "declared as mechanism 'soft' declares it"));
}

TEST(Description, IsTheSameOneEveryTime) {
  for (const auto* mechanism : Mechanisms<float>()) {
    const Description& about = mechanism->Describe();
    EXPECT_EQ(&about, &mechanism->Describe());
    EXPECT_EQ(&about, &FindMechanism<double>(about.name)->Describe());
  }
}

TEST(Variants, MustAgreeUnlessTheyOnlyApproximateTraining) {
  const Description& about = FindMechanism<float>("monotonic")->Describe();
  Config config;
  for (const auto& [variant, mode, must] :
       {std::tuple("exact", Mode::kGradient, true),
        std::tuple("reference", Mode::kExpect, true),
        std::tuple("parallel", Mode::kExpect, false),
        std::tuple("parallel", Mode::kGradient, false),
        std::tuple("banded", Mode::kExpect, true),
        std::tuple("published_O3", Mode::kDecode, true)}) {
    config.variant = variant;
    config.mode = mode;
    EXPECT_EQ(MustAgree(about, config), must)
        << variant << " " << static_cast<int>(mode);
  }
  config.variant = "unheard of";
  EXPECT_THROW(VariantOf(about, config), Unsupported);
}

// Those who want the reference ask for it by this name.
TEST(Variants, TheFirstIsExactAndOneIsTheReference) {
  for (const auto* mechanism : Mechanisms<float>()) {
    const Description& about = mechanism->Describe();
    EXPECT_EQ(about.variants.front().name, Config().variant) << about.name;
    for (const VariantSpec& variant : about.variants) {
      EXPECT_EQ(variant.is_reference, variant.name == "reference")
          << about.name << " " << variant.name;
    }
  }
}

TEST(Variants, HaveAllModesUnlessTheyNameTheirs) {
  EXPECT_TRUE(HasMode({.name = "exact", .help = ""}, Mode::kGradient));
  const VariantSpec published = {
      .name = "published", .help = "", .modes = {Mode::kExpect}};
  EXPECT_TRUE(HasMode(published, Mode::kExpect));
  EXPECT_FALSE(HasMode(published, Mode::kDecode));
}

// The gates find the reference by its name, the mechanisms by the flag.
TEST(Description, WhoseReferenceIsOneInNameOrFlagAloneIsRefused) {
  Description about = Newcomer();
  about.variants = {{.name = "reference", .help = ""}};
  EXPECT_THAT(Refusal({about}), HasSubstr("variant 'reference'"));
  about.variants = {{.name = "exact", .help = "", .is_reference = true}};
  EXPECT_THAT(Refusal({about}), HasSubstr("variant 'exact'"));
}

TEST(Description, ThatGivesAnOptionToAVariantThatThereIsNotIsRefused) {
  Description about = Newcomer();
  about.scores = {};
  about.variants = {{"exact", ""}, {"closed", ""}};
  about.options = {
      {.name = "preset", .default_value = false, .variant = "closed"}};
  EXPECT_EQ(Refusal({about}), "none");
  about.options[0].variant = "open";
  EXPECT_THAT(Refusal({about}),
              HasSubstr("mechanism 'newcomer': option 'preset' is of variant "
                        "'open', which there is not"));
}

TEST(Description, WhoseVerifiedValuesAreNotOfTheOptionsTypeIsRefused) {
  Description about = Newcomer();
  about.scores = {};
  about.options = {{.name = "ratio", .default_value = 1.0, .verified = {2.0}}};
  EXPECT_EQ(Refusal({about}), "none");
  about.options[0].verified = {2};
  EXPECT_THAT(Refusal({about}), HasSubstr("option 'ratio' verifies values"));
}

TEST(Description, ThatHasScoresOfKNumbersHasTheOptionThatSaysK) {
  Description about = Newcomer();
  about.options = {};
  EXPECT_THAT(Refusal({about}), HasSubstr("does not have the option "
                                          "num_contexts"));
}

TEST(FurtherInputs, AreThoseOfTheEnergyFunction) {
  const Description& about = FindMechanism<float>("mocha")->Describe();
  Config config;
  EXPECT_EQ(FurtherInputs(about, config).size(), 2U);
  config.energy = EnergyKind::kAdditive;
  EXPECT_TRUE(FurtherInputs(about, config).empty());
}

}  // namespace
}  // namespace attnbench
