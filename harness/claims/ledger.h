// The part of a ledger (experiments/claims.json) that measuring needs: its
// claims, and which measurements their parts read. The rules are for the judge
// (python/attnbench/judge). results/schema/claims_ledger.schema.json is its
// schema.
#ifndef ATTNBENCH_HARNESS_CLAIMS_LEDGER_H_
#define ATTNBENCH_HARNESS_CLAIMS_LEDGER_H_

#include <optional>
#include <string>
#include <vector>

#include "harness/claims/computed.h"
#include "harness/sweep/experiment_document.h"

namespace attnbench {

// What a measurement has of these follows from its kind, as the schema says.
struct Measurement {
  std::string kind = {};
  std::string experiment = {};
  std::optional<ProfileDocument> full = {}, quick = {};
  std::vector<std::string> mechanisms = {};
  std::int64_t trials = 0;

  static void Fields(auto& self, auto& visit) {
    const Rule of_some{.may_be_absent = true};
    visit("kind", self.kind);
    visit("experiment", self.experiment, of_some);
    visit("full", self.full, of_some);
    visit("quick", self.quick, of_some);
    visit("mechanisms", self.mechanisms,
          Rule{.one_of = MechanismNames(), .may_be_absent = true});
    visit("trials", self.trials, of_some);
  }
};

struct LedgerQuantity {
  static constexpr bool kIgnoresOthers = true;

  std::string kind = {};
  std::string from = {};  // the name of the measurement
  std::string name = {};
  OrderedMap<Json> inputs = {};
  Computation compute = {};  // with these inputs; of kind computed

  static void Fields(auto& self, auto& visit) {
    visit("kind", self.kind);
    visit("from", self.from);
    visit("name", self.name, Rule{.may_be_absent = true});
    visit("inputs", self.inputs, Rule{.may_be_absent = true});
  }
};

struct LedgerPart {
  static constexpr bool kIgnoresOthers = true;

  std::string name = {};
  LedgerQuantity quantity = {};

  static void Fields(auto& self, auto& visit) {
    visit("name", self.name);
    visit("quantity", self.quantity);
  }
};

struct LedgerClaim {
  static constexpr bool kIgnoresOthers = true;

  std::string id = {};
  std::string source = {};  // where the paper says it
  std::string claim = {};   // what it says
  std::vector<LedgerPart> parts = {};

  static void Fields(auto& self, auto& visit) {
    visit("id", self.id);
    visit("source", self.source, Rule{.may_be_absent = true});
    visit("claim", self.claim, Rule{.may_be_absent = true});
    visit("parts", self.parts);
  }
};

struct ClaimsLedger {
  static constexpr bool kIgnoresOthers = true;

  OrderedMap<Measurement> measurements = {};  // each made once for all parts
  std::vector<LedgerClaim> claims = {};

  static void Fields(auto& self, auto& visit) {
    visit("measurements", self.measurements);
    visit("claims", self.claims);
  }

  std::vector<std::string> Ids() const;
  // The quantities that read the measurement, in the ledger's order.
  std::vector<LedgerQuantity> QuantitiesOf(
      const std::string& measurement) const;
};

// Throws UserError naming file and place if `schema` does not allow something,
// if a claim is there twice, if a part reads a measurement that is not there,
// or if the program does not have a computed quantity or it has other inputs.
// `schema` is the path of the ledger's schema.
ClaimsLedger ReadClaimsLedger(const std::string& path,
                              const std::string& schema);

// Keeps the claims of these ids, in the ledger's order; all where there are
// none. Throws UserError for an id that is not there.
void KeepClaims(const std::vector<std::string>& ids, ClaimsLedger& ledger);

// The names of the measurements that the claims read, in the ledger's order.
std::vector<std::string> MeasurementsOf(const ClaimsLedger& ledger);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_CLAIMS_LEDGER_H_
