// RapidCheck in a GoogleTest, with the same cases in every run: a property that
// draws new cases each time fails on somebody else's commit.
#ifndef ATTNBENCH_TESTS_SUPPORT_PROPERTY_H_
#define ATTNBENCH_TESTS_SUPPORT_PROPERTY_H_

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstring>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/drawn_inputs.h"

namespace attnbench::testing {

// Runs `property`, which draws with the functions below and asserts with
// RC_ASSERT; a failure is reported with its smallest case.
template <class Property>
void CheckProperty(const Property& property, int num_cases = 150) {
  rc::detail::TestMetadata metadata;
  const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
  metadata.id = metadata.description = test->name();
  rc::detail::TestParams params;
  params.seed = 1;
  params.maxSuccess = num_cases;
  const auto result =
      rc::detail::checkTestable(Property(property), metadata, params);
  if (result.template is<rc::detail::SuccessResult>()) return;
  std::ostringstream message;
  rc::detail::printResultMessage(result, message);
  ADD_FAILURE() << message.str();
}

// Draws a length from first to last, both included.
inline Index DrawIndex(const std::string& name, Index first, Index last) {
  return *rc::gen::inRange<Index>(first, last + 1).as(name);
}

// Draws one of `values`.
template <class T>
T DrawOneOf(const std::string& name, const std::vector<T>& values) {
  const Index last = static_cast<Index>(values.size()) - 1;
  return values[Size(DrawIndex(name, 0, last))];
}

// Draws a config of that mechanism with every axis and option that it has, but
// leaves energy and schedule alone.
template <class Real>
Config DrawConfig(const Mechanism<Real>& mechanism, Index dim) {
  Config config = DefaultConfig(mechanism, dim);
  config.want_weights = true;
  config.end = DrawOneOf<EndPolicy>(
      "end", {EndPolicy::kAbsorb, EndPolicy::kStayLast, EndPolicy::kRestart});
  config.options["chunk_width"] =
      DrawOneOf<Index>("chunk_width", {1, 2, 3, 5, 20, kInfiniteWidth});
  config.options["num_contexts"] = DrawIndex("num_contexts", 1, 6);
  for (const OptionSpec& option : mechanism.Describe().options) {
    OptionValue& value = config.options[option.name];
    if (!option.allowed.empty()) {
      value = DrawOneOf(option.name, option.allowed);
    } else if (std::holds_alternative<bool>(value)) {
      value = DrawOneOf<bool>(option.name, {false, true});
    } else if (option.name == "threshold") {
      value = DrawOneOf<double>(option.name, {0.5, 0.8, 0.2});
    } else if (option.name == "f") {
      value = DrawIndex(option.name, 1, 5);
    }
  }
  return config;
}

template <class Real>
bool SameBits(const std::vector<Real>& a, const std::vector<Real>& b) {
  return a.size() == b.size() &&
         (a.empty() ||
          std::memcmp(a.data(), b.data(), a.size() * sizeof(Real)) == 0);
}

template <class Real>
bool SameBits(const KeptStep<Real>& a, const KeptStep<Real>& b) {
  return a.position == b.position && a.begin == b.begin && a.end == b.end &&
         a.inspected == b.inspected && SameBits(a.weights, b.weights);
}

template <class Real>
bool SameBits(const std::vector<KeptStep<Real>>& a,
              const std::vector<KeptStep<Real>>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!SameBits(a[i], b[i])) return false;
  }
  return true;
}

}  // namespace attnbench::testing

#endif  // ATTNBENCH_TESTS_SUPPORT_PROPERTY_H_
