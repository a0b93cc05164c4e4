// The grid of `attnbench verify`: which inputs a mechanism's expectation and
// gradients are compared on. It follows from the mechanism's Description alone,
// so that a new mechanism is verified without a line here.
//
// Scores are drawn in families, chosen for what goes wrong with them:
//   uniform      p in [0, 1), chunk energies and other scores N(0, 1)
//   saturated    scores 8 N(0, 1), so p is mostly near 0 or 1
//   recommended  energies N(-4, 1): the start r = -4 that others recommend
//   adversarial  p of exact zeros and ones, tiny, all but one; u = +-j, +-1e4
//   binary       p in {0, 1}: the sampled process has one outcome
// or follow from the states and the memory of a workload.
#ifndef ATTNBENCH_HARNESS_VERIFY_CASES_H_
#define ATTNBENCH_HARNESS_VERIFY_CASES_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "harness/base/arrays.h"
#include "harness/inputs/workload.h"

namespace attnbench {

// The way in which the expectation is made without its formulas.
enum class VerifyMethod {
  kExact,        // nothing is random: the decoder runs once
  kEnumeration,  // every outcome of the sampled process, with its probability
  kSampling,     // trials of the sampled process
};
std::string MethodName(VerifyMethod method);

struct VerifyCase {
  std::string mechanism;
  VerifyMethod method = VerifyMethod::kExact;
  Index memory_length = 1;   // T
  Index output_length = 1;   // U
  std::string scores;        // a family, or a workload
  bool from_states = false;  // `scores` is a workload
  Config config;             // the mechanism's, complete
  // Tells it from the other cases of its mechanism, for people and as a key:
  // "T=8 U=6 w=3 end=absorb scores=uniform".
  std::string name;
};

// All cases of a mechanism, except those that need a mode that it lacks.
// `options` are the same in all cases; of the others every case is crossed with
// OptionSpec::verified, and some with OptionSpec::allowed. Throws UserError for
// an option that the trials must set otherwise, and for a policy.
std::vector<VerifyCase> MakeVerifyCases(
    const Description& description, bool quick,
    const std::map<std::string, OptionValue>& options = {});

// This stands before the name of an array that ParameterSource was asked for.
inline constexpr char kParameterKey[] = "parameter ";

// The inputs of a case, drawn from Philox keyed by seed and case. Every array
// can be changed, for differences. Keys: `memory` and the scores that the
// mechanism declares; or `memory`, `states`, its further inputs, `energy_bias`
// and `energy_scale` [1, 1] of SequenceInputs, and "parameter attention.W" and
// so on, each once the mechanism has asked for it. This class is not
// thread-safe.
class VerifyInputs {
 public:
  VerifyInputs(const VerifyCase& verify_case, const Description& description,
               std::uint64_t seed);
  VerifyInputs(const VerifyInputs&) = delete;
  VerifyInputs& operator=(const VerifyInputs&) = delete;

  std::map<std::string, Table<double>>& arrays() { return arrays_; }
  const std::map<std::string, Table<double>>& arrays() const { return arrays_; }
  const Table<double>* Find(const std::string& name) const;
  const Table<double>& At(const std::string& name) const;
  // The cotangents of attention [U, T] and of contexts [U, d]; both are fixed.
  const Table<double>& cotangent_attention() const { return d_attention_; }
  const Table<double>& cotangent_contexts() const { return d_contexts_; }
  // Views of the arrays as they are now; `contexts` outlives it.
  Sequence<double> MakeSequence(Table<double>& contexts) const;
  std::uint64_t key() const { return key_; }

 private:
  void DrawScores(const VerifyCase& verify_case,
                  const Description& description);
  void DrawStates(const VerifyCase& verify_case,
                  const Description& description);

  std::uint64_t key_;
  bool given_ = true;
  std::map<std::string, Table<double>> arrays_;
  Table<double> d_attention_;                   // [U, T]
  Table<double> d_contexts_;                    // [U, d]
  std::shared_ptr<Workload<double>> workload_;  // owns the drawn parameters
  std::unique_ptr<ParameterSource<double>> parameters_;  // those in arrays_
};

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_VERIFY_CASES_H_
