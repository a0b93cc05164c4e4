// The subject is what all ways of verifying a case share: its inputs, what
// training says of them, and decoding them, as they are or with forced choices.
#ifndef ATTNBENCH_HARNESS_VERIFY_SUBJECT_H_
#define ATTNBENCH_HARNESS_VERIFY_SUBJECT_H_

#include <map>
#include <string>
#include <vector>

#include "harness/verify/cases.h"
#include "mechanisms/description.h"

namespace attnbench {

// Half the step of central differences: their error, of third derivatives
// times h^2 / 6, stays below kDifferenceTolerance for scores of any size.
inline constexpr double kDifferenceStep = 1e-4;
inline constexpr double kDifferenceTolerance = 1e-6;
// The rounding of sums of products of probabilities, in double.
inline constexpr double kValueTolerance = 1e-12;

// The results of Expect and Gradient for a case.
struct Trained {
  Table<double> attention;  // [U, T]
  Table<double> selection;  // [U, T], zero where nothing is chosen
  Table<double> contexts;   // [U, d]
  // dL/d of each input, L = <cotangents, attention and contexts>, by the keys
  // of VerifyInputs; zero if the mechanism says nothing of it. It is empty only
  // if the mechanism has no mode gradient, as every case has a memory.
  std::map<std::string, Table<double>> gradients;
  Table<double> attention_beside_gradients;
};

// The output of decoding one sequence.
struct Decoded {
  Table<double> attention;  // [U, T]
  Table<double> contexts;   // [U, d]
  // Of each output the choice of its first head, and what all heads weight.
  std::vector<StepTrace> steps;
};

class VerifySubject {
 public:
  VerifySubject(const Mechanism<double>& mechanism,
                const VerifyCase& verify_case, std::uint64_t seed);

  Index T() const { return case_.memory_length; }
  Index U() const { return case_.output_length; }
  Index d() const { return case_.config.dim; }
  VerifyInputs& inputs() { return inputs_; }
  const VerifyInputs& inputs() const { return inputs_; }
  Decoded MakeDecoded() const;

  // Throws if Gradient gives a parameter that is no input.
  Trained Train() const;
  // L by Expect, for the current inputs.
  double ExpectedLoss() const;
  // The selection of output 2 of a sequence of two, for its p_choose: [T].
  std::vector<double> SelectionOfSecond(const Table<double>& p_choose) const;

  // Runs one trial of the sampled process; all trials are the same if nothing
  // is random. Not thread-safe.
  void Sample(std::uint32_t trial, Decoded& decoded);
  // Decodes with z [U, T], zeros and ones, in place of the probabilities.
  void DecodeForced(const Table<double>& z, Decoded& decoded);
  // The share of output i in L.
  double Loss(const Decoded& decoded, Index i) const;
  double Loss(const Decoded& decoded) const;

  // p [U, T] and 1 - p, if the case gives scores of the choice.
  bool knows_probabilities() const { return !p_.values.empty(); }
  const Table<double>& p() const { return p_; }
  const Table<double>& complement() const { return complement_; }
  // "p_choose" or "energies", whichever the case gives.
  const std::string& choice_name() const { return choice_name_; }

  // Whether the end policy makes this impossible.
  bool none_is_impossible() const { return HasEnd(EndPolicy::kStayLast); }
  bool choice_after_none_is_impossible() const {
    return HasEnd(EndPolicy::kAbsorb);
  }

 private:
  void FindProbabilities();
  bool HasEnd(EndPolicy end) const;
  void Expect(const Expectation<double>& out, Table<double>& contexts) const;
  void AddGradients(Trained& trained) const;
  void Decode(const Config& config, const Sequence<double>& sequence,
              std::uint32_t trial, Decoded& decoded) const;

  const Mechanism<double>& mechanism_;
  const Description& about_;
  const VerifyCase& case_;
  const Config sampling_;  // the setting that samples choices
  VerifyInputs inputs_;
  std::string choice_name_;
  Table<double> p_;
  Table<double> complement_;
};

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_VERIFY_SUBJECT_H_
