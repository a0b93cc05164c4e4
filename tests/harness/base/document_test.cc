// Guards against a document that is read as something else: a field with
// another type that becomes 0, a key with a typing error that is ignored, a
// schema that says something else than the reading.
#include "harness/base/document.h"

#include <gtest/gtest.h>

#include <functional>

#include "harness/base/error.h"
#include "tests/support/error_text.h"
#include "tests/support/schema.h"

namespace attnbench {
namespace {

struct Part {
  std::string name;
  double share = 0;

  bool operator==(const Part&) const = default;
  static void Fields(auto& self, auto& visit) {
    visit("name", self.name, Rule{.pattern = "^[a-z]+$"});
    visit("share", self.share, Rule{.minimum = 0, .maximum = 1});
  }
};

struct Whole {
  bool good = false;
  std::uint64_t seed = 0;
  int count = 0;
  std::string kind = "a";
  std::optional<double> above;
  std::vector<Part> parts;
  std::map<std::string, std::int64_t> numbers;
  std::optional<int> late;
  std::optional<int> rare;

  bool operator==(const Whole&) const = default;
  static void Fields(auto& self, auto& visit) {
    visit("good", self.good);
    visit("seed", self.seed);
    visit("count", self.count, kAtLeastOne);
    visit("kind", self.kind, Rule{.one_of = {"a", "b"}});
    visit("above", self.above, kAboveZero);
    visit("parts", self.parts, Rule{.min_items = 1, .max_items = 2});
    visit("numbers", self.numbers);
    visit("late", self.late, Rule{.may_be_absent = true});
    visit("rare", self.rare, Rule{.absent_if_unset = true});
  }
};

Whole Example() {
  return {.good = true,
          .seed = 1ULL << 40,
          .count = 3,
          .kind = "b",
          .above = 0.1,
          .parts = {{"x", 0}, {"yz", 1}},
          .numbers = {{"n", -5}},
          .late = 1,
          .rare = 2};
}

TEST(Document, ComesBackAsItWasWritten) {
  EXPECT_EQ(FromJson<Whole>(ToJson(Example()), "d.json"), Example());
  EXPECT_EQ(ToJson(Example()).dump(),
            R"({"good":true,"seed":1099511627776,"count":3,"kind":"b",)"
            R"("above":0.1,"parts":[{"name":"x","share":0.0},)"
            R"({"name":"yz","share":1.0}],"numbers":{"n":-5},"late":1,)"
            R"("rare":2})");
}

TEST(Document, WhatIsNotSetIsNullOrNotThere) {
  Whole whole = Example();
  whole.above = whole.late = whole.rare = {};
  const Json json = ToJson(whole);
  EXPECT_TRUE(json.at("above").is_null());
  EXPECT_TRUE(json.at("late").is_null());
  EXPECT_FALSE(json.contains("rare"));
  EXPECT_EQ(FromJson<Whole>(json, "d.json"), whole);
}

TEST(Document, AnOldOneMayLackWhatCameLater) {
  Json json = ToJson(Example());
  json.erase("late");
  EXPECT_EQ(FromJson<Whole>(json, "d.json").late, std::nullopt);
}

struct Wrong {
  const char* what;
  std::function<void(Json&)> damage;
  const char* message;
};

class EveryWrongDocument : public ::testing::TestWithParam<Wrong> {};

TEST_P(EveryWrongDocument, IsRefusedByNameAndByItsSchema) {
  Json json = ToJson(Example());
  GetParam().damage(json);
  EXPECT_EQ(testing::ErrorText([&] { FromJson<Whole>(json, "d.json"); }),
            GetParam().message);
  EXPECT_FALSE(testing::Validates(SchemaOf<Whole>(), json));
}

INSTANTIATE_TEST_SUITE_P(
    Document, EveryWrongDocument,
    ::testing::Values(
        Wrong{"NotAnObject", [](Json& json) { json = 5; },
              "d.json: 5 is no object {...}"},
        Wrong{"KeyWithATypingError",
              [](Json& json) {
                json["godo"] = json["good"];
                json.erase("good");
              },
              "d.json: unknown key 'godo'; did you mean 'good'? valid: good, "
              "seed, count, kind, above, parts, numbers, late, rare"},
        Wrong{"Empty", [](Json& json) { json = Json::object(); },
              "d.json: has no 'good'"},
        Wrong{"UnknownKey", [](Json& json) { json["cuont"] = 1; },
              "d.json: unknown key 'cuont'; did you mean 'count'? valid: good, "
              "seed, count, kind, above, parts, numbers, late, rare"},
        Wrong{"BoolIsNumber", [](Json& json) { json["good"] = 1; },
              "d.json: good: 1 is neither true nor false"},
        Wrong{"CountIsFraction", [](Json& json) { json["count"] = 1.5; },
              "d.json: count: 1.5 is no whole number from 1"},
        Wrong{"CountIsTooSmall", [](Json& json) { json["count"] = 0; },
              "d.json: count: 0 is no whole number from 1"},
        Wrong{"SeedIsNegative", [](Json& json) { json["seed"] = -1; },
              "d.json: seed: -1 is no whole number from 0 on"},
        Wrong{"AboveIsNotAbove", [](Json& json) { json["above"] = 0; },
              "d.json: above: 0 is no number above 0"},
        Wrong{"KindIsUnknown", [](Json& json) { json["kind"] = "c"; },
              "d.json: kind: unknown value 'c'; did you mean 'a'? valid: a, b"},
        Wrong{"NameDoesNotMatch",
              [](Json& json) { json["parts"][1]["name"] = "X"; },
              "d.json: parts[1].name: \"X\" does not match ^[a-z]+$"},
        Wrong{"ShareIsTooLarge",
              [](Json& json) { json["parts"][0]["share"] = 1.1; },
              "d.json: parts[0].share: 1.1 is no number from 0 to 1"},
        Wrong{"ListIsText", [](Json& json) { json["parts"] = "x"; },
              "d.json: parts: \"x\" is no list"},
        Wrong{"ListIsTooLong",
              [](Json& json) { json["parts"].push_back(json["parts"][0]); },
              "d.json: parts: is a list of 3 values; expected at least 1, at "
              "most 2"},
        Wrong{"MapHasText", [](Json& json) { json["numbers"]["m"] = "1"; },
              "d.json: numbers.m: \"1\" is no whole number"}),
    [](const auto& wrong) { return wrong.param.what; });

TEST(Document, AWholeNumberBeyond64BitsIsRefused) {
  for (const char* text : {"1e30", "18446744073709551615", "2147483648"}) {
    Json json = ToJson(Example());
    json["count"] = Json::parse(text);
    EXPECT_THROW(FromJson<Whole>(json, "d.json"), UserError) << text;
  }
}

TEST(Document, AWholeNumberIsOneHoweverItIsWritten) {
  for (const char* text : {"6", "6.0", "6e0", "0.6e1"}) {
    Json json = ToJson(Example());
    json["seed"] = json["count"] = Json::parse(text);
    const auto read = FromJson<Whole>(json, "d.json");
    EXPECT_EQ(read.seed, 6U) << text;
    EXPECT_EQ(read.count, 6) << text;
  }
  for (const char* text : {"6.5", "-1.0", "1.9e19", "1e300"}) {
    Json json = ToJson(Example());
    json["seed"] = Json::parse(text);
    EXPECT_THROW(FromJson<Whole>(json, "d.json"), UserError) << text;
  }
}

// A person may write a value or a list, and may leave members out.
struct Said {
  OneOrMore<double> shares;
  std::string title = "t";
  std::optional<int> count;

  static void Fields(auto& self, auto& visit) {
    visit("shares", self.shares,
          Rule{.exclusive_maximum = 1, .may_be_absent = true});
    visit("title", self.title, Rule{.not_empty = true, .may_be_absent = true});
    visit("count", self.count,
          Rule{.minimum = 1, .maximum = 1, .absent_if_unset = true});
  }
};

TEST(Document, OneValueStandsForAListOfIt) {
  EXPECT_EQ(FromJson<Said>(Json{{"shares", 0.5}}, "d").shares.values,
            std::vector<double>({0.5}));
  EXPECT_EQ(FromJson<Said>(Json{{"shares", {0.5, 0}}}, "d").shares.values,
            std::vector<double>({0.5, 0}));
  EXPECT_TRUE(FromJson<Said>(Json::object(), "d").shares.values.empty());
}

TEST(Document, WhatAPersonWritesWronglyIsRefusedByNameAndByItsSchema) {
  for (const auto& [text, message] : {
           std::pair(R"({"shares": 1})", "d: shares: 1 is no number below 1"),
           std::pair(R"({"shares": [0, 1]})",
                     "d: shares[1]: 1 is no number below 1"),
           std::pair(R"({"shares": []})",
                     "d: shares: the list of values is empty"),
           std::pair(R"({"title": ""})", "d: title: is an empty text"),
           std::pair(R"({"count": null})", "d: count: is null, must be 1"),
           std::pair(R"({"count": 2})", "d: count: is 2, must be 1"),
           std::pair(R"({"shars": 1})",
                     "d: unknown key 'shars'; did you mean 'shares'? valid: "
                     "shares, title, count"),
       }) {
    const Json json = Json::parse(text);
    EXPECT_EQ(testing::ErrorText([&] { FromJson<Said>(json, "d"); }), message);
    EXPECT_FALSE(testing::Validates(SchemaOf<Said>(), json)) << text;
  }
  EXPECT_TRUE(testing::Validates(SchemaOf<Said>(),
                                 Json{{"shares", {0.5}}, {"count", 1}}));
}

// A part of a document that another program reads too.
struct Shared {
  static constexpr bool kIgnoresOthers = true;

  int even = 0;
  OrderedMap<int> numbers;

  static void Fields(auto& self, auto& visit) {
    visit("even", self.even, Rule{.minimum = 4, .multiple_of = 2});
    visit("numbers", self.numbers);
  }
};

TEST(Document, WhatOthersReadIsIgnoredAndOrderIsKept) {
  const Json json =
      Json::parse(R"({"even": 6, "more": 1, "numbers": {"b": 1, "a": 2}})");
  const auto shared = FromJson<Shared>(json, "d");
  EXPECT_EQ(ToJson(shared).dump(), R"({"even":6,"numbers":{"b":1,"a":2}})");
  EXPECT_TRUE(testing::Validates(SchemaOf<Shared>(), json));
}

TEST(Document, ANumberIsAMultipleOfItsRules) {
  const Json json = Json::parse(R"({"even": 7, "numbers": {}})");
  EXPECT_EQ(testing::ErrorText([&] { FromJson<Shared>(json, "d"); }),
            "d: even: 7 is no whole number from 4 that is a multiple of "
            "2");
  EXPECT_FALSE(testing::Validates(SchemaOf<Shared>(), json));
}

TEST(Document, ItsSchemaTakesWhatIsWritten) {
  EXPECT_TRUE(testing::Validates(SchemaOf<Whole>(), ToJson(Example())));
}

}  // namespace
}  // namespace attnbench
