// Quantities of claims that are computed, not timed; each has the name and
// inputs that the ledger gives it. They are functions of seed and inputs alone.
// Their result document is of kind "computed":
// results/schema/computed.schema.json is made from it. What needs none of our
// code is in python/attnbench/judge/computed.py.
#ifndef ATTNBENCH_HARNESS_CLAIMS_COMPUTED_H_
#define ATTNBENCH_HARNESS_CLAIMS_COMPUTED_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/base/document.h"
#include "harness/machine/context.h"
#include "harness/results/sweep_result.h"
#include "harness/stats/statistics.h"
#include "harness/sweep/axes.h"

namespace attnbench {

// It is "inf" or "-inf" in the document where it is infinite, null where it is
// NaN.
struct ExactNumber {
  double value = 0;
};

template <>
struct JsonForm<ExactNumber> {
  static Json Write(const ExactNumber& number);
  static Json Schema(const Rule& rule);
};

// A number with its labels.
struct ComputedRow {
  std::string name = {};         // the quantity's
  OrderedMap<Json> inputs = {};  // as they stand in the ledger
  OrderedMap<Json> labels = {};
  ExactNumber value = {};
  std::optional<std::vector<ExactNumber>> interval = {};
  std::optional<std::string> why = {};

  ComputedRow() = default;
  ComputedRow(OrderedMap<Json> the_labels, double number);
  ComputedRow(OrderedMap<Json> the_labels, const Estimate& estimate);

  static void Fields(auto& self, auto& visit) {
    visit("name", self.name, kNotEmpty);
    visit("inputs", self.inputs,
          Rule{.description = "as in experiments/claims.json"});
    visit("labels", self.labels);
    visit("value", self.value);
    visit("interval", self.interval,
          Rule{.description = "its two ends; null: chance does not move it",
               .min_items = 2,
               .max_items = 2});
    visit("why", self.why, Rule{.description = "why there is no number"});
  }
};
using ComputedRows = std::vector<ComputedRow>;

struct ComputedResult {
  static constexpr char kTitle[] =
      "Exact quantities that attnbench claims computes";

  int schema_version = kSchemaVersion;
  std::string kind = "computed";
  Context context = {};
  ComputedRows quantities = {};

  static void Fields(auto& self, auto& visit) {
    visit("schema_version", self.schema_version, kThisSchemaVersion);
    visit("kind", self.kind, Rule{.one_of = {"computed"}});
    visit("context", self.context);
    visit("quantities", self.quantities, Rule{.min_items = 1});
  }
};

// Makes the rows of a quantity.
using Computation = std::function<ComputedRows(std::uint64_t seed)>;

// A quantity as somebody asks for it.
struct AskedQuantity {
  std::string place = {};  // where in the ledger it stands
  std::string name = {};
  OrderedMap<Json> inputs = {};

  static void Fields(auto& self, auto& visit) {
    visit("place", self.place);
    visit("name", self.name);
    visit("inputs", self.inputs);
  }
};

// The computations of these quantities; their rows say which they are. Throws
// UserError naming the place for a name or inputs that the program does not
// know.
std::vector<Computation> ReadQuantities(
    const std::vector<AskedQuantity>& quantities);
Computation ReadQuantity(const std::string& name, const Json& inputs,
                         const Place& place);
// The names of all quantities.
std::vector<std::string> ComputedQuantityNames();

struct NamedQuantity {
  const char* name;
  Computation (*read)(const Json& inputs, const Place& place);
};

// The `read` of a quantity that Compute(inputs, seed) makes: the type of its
// first argument is a document, which says what its inputs are.
template <auto Compute>
Computation Reads(const Json& json, const Place& place) {
  return [&]<class Inputs>(ComputedRows (*)(const Inputs&, std::uint64_t)) {
    return Computation(std::bind_front(Compute, FromJson<Inputs>(json, place)));
  }(Compute);
}

// The rules of inputs that are values of an axis, or of an option of a
// mechanism that is a text.
Rule AxisRule(const std::string& axis);
Rule OptionRule(const std::string& mechanism, const std::string& option);

// decoding.cc
//
// online_difference   contexts that differ in any bit when the entries arrive
//                     one at a time, over all draws of a workload
// online_lookahead    the most entries that were there beyond the chosen one
//                     when an output came, of outputs that chose one
// width_one_difference  numbers in which mocha with w = 1 and monotonic differ:
//                     positions, contexts, expectation, gradient of p; or the
//                     chunk energies that it evaluates
// loop_gap            total variation between where the sampled process chooses
//                     for the last output and alpha, whose states follow from
//                     expected contexts: s(i) = tanh(A s(i-1) + B c(i)). In an
//                     open loop the sampled process has these states too, in a
//                     closed one its own, which follow from the contexts that
//                     it sampled. A and B have entries N(0, 4/d), which keeps
//                     energies at size 1 to 2
std::span<const NamedQuantity> DecodingQuantities();

// closed_form.cc
//
// closed_form_error       of alpha by the closed form with these bounds of
//                         clipping, against the exact one, p uniform between
//                         two bounds
// closed_form_not_finite  numbers of alpha that are not
// denominator_one_error   error of the second output, the first having chosen
//                         `start` (from 1), for p in {0, 1}
// decay_linearity     R squared of ln prod(1 - p(n)) against the entry
// reach               the first entry past which less than half the mass goes
// reach_ratio         that of the last bias over that of the first
std::span<const NamedQuantity> ClosedFormQuantities();

// gap.cc
//
// enumerated_gap      the same without chance: the greatest total variation of
//                     an output, and of so many drawn decoders, between alpha
//                     and every path of the sampled process, at each feedback
//                     (harness/gap/random_decoder.h); 0 is the open loop
std::span<const NamedQuantity> GapQuantities();

// formulas.cc
//
// position_encoding_asymmetry, _center, _slope  of L(k, s), eq 10 of Britz
// context_position_range  mean position of the last context less that of the
//                     first, over T, of scores N(0, 1)
// context_position_order  rank correlation of k and the mean position
std::span<const NamedQuantity> FormulaQuantities();

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_CLAIMS_COMPUTED_H_
