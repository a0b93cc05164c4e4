#include "harness/verify/enumeration.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "harness/stats/central_difference.h"

namespace attnbench {
namespace {

// The z(i, j) of one entry that was inspected.
struct Decision {
  Index i;
  Index j;
  bool z;
};

// The choices that made `steps`, in their order: output i inspects entries from
// the last choice on, as many as it says.
std::vector<Decision> DecisionsOf(const std::vector<StepTrace>& steps) {
  std::vector<Decision> decisions;
  Index start = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const StepTrace& step = steps[i];
    for (Index n = 0; n < step.inspected; ++n) {
      const Index j = start + n;
      // Entries are inspected one by one until one is chosen.
      decisions.push_back({static_cast<Index>(i), j, j == step.position});
    }
    if (step.position >= 0) start = step.position;
  }
  return decisions;
}

// Without this check a disobedient decoder could go on for ever.
void CheckObeyed(const std::vector<Decision>& decisions,
                 const Table<double>& z) {
  for (const Decision& decision : decisions) {
    if (decision.z == (z(decision.i, decision.j) != 0)) continue;
    throw std::runtime_error(fmt::format(
        "the decoder's output {} is impossible: entry {} has probability {} "
        "and was {}",
        decision.i + 1, decision.j + 1, z(decision.i, decision.j),
        decision.z ? "chosen" : "passed"));
  }
}

// Makes the next matrix z after the outcome with these decisions: the last
// entry that was chosen is now passed, and all entries that could follow are
// chosen. False after the last outcome.
bool NextOutcome(const std::vector<Decision>& decisions, Table<double>& z) {
  for (std::size_t n = decisions.size(); n-- > 0;) {
    if (!decisions[n].z) continue;
    std::fill(z.values.begin(), z.values.end(), 1.0);
    for (std::size_t before = 0; before < n; ++before) {
      const Decision& decision = decisions[before];
      z.view()(decision.i, decision.j) = decision.z ? 1 : 0;
    }
    z.view()(decisions[n].i, decisions[n].j) = 0;
    return true;
  }
  return false;
}

// Adds up probability times result over the outcomes.
class OutcomeSums {
 public:
  OutcomeSums(VerifySubject& subject, bool with_gradients)
      : subject_(subject),
        with_gradients_(with_gradients),
        U_(subject.U()),
        T_(subject.T()),
        attention_(U_, T_),
        selection_(U_, T_),
        contexts_(U_, subject.d()),
        d_p_(U_, T_),
        d_chunk_(U_, T_),
        nudged_(subject.MakeDecoded()) {}

  void Add(const Table<double>& z, const Decoded& decoded,
           const std::vector<Decision>& decisions) {
    const double probability = Probability(decisions);
    AddScaled(probability, decoded.attention, attention_);
    AddScaled(probability, decoded.contexts, contexts_);
    for (Index i = 0; i < U_; ++i) {
      const Index position = decoded.steps[Size(i)].position;
      if (position >= 0) selection_.view()(i, position) += probability;
    }
    mass_ += probability;
    if (!with_gradients_) return;
    AddGradientOfChoices(decisions, subject_.Loss(decoded));
    if (probability > 0 && subject_.inputs().Find("chunk_energies")) {
      AddGradientOfChunks(z, probability);
    }
  }

  void Compare(const Trained& trained, std::vector<Quantity>& quantities) {
    const auto compare = [&](const char* what, double tolerance,
                             const Table<double>& expected,
                             const Table<double>& seen) {
      quantities.push_back(Quantity::Exact(what, tolerance));
      quantities.back().CompareExact(expected, seen);
    };
    // This checks the enumeration, not training: no outcome was missed.
    quantities.push_back(Quantity::Exact("probability", kValueTolerance));
    quantities.back().CompareExact(-1, -1, 1, mass_);
    compare("selection", kValueTolerance, trained.selection, selection_);
    compare("attention", kValueTolerance, trained.attention, attention_);
    compare("context", kValueTolerance, trained.contexts, contexts_);
    if (!with_gradients_) return;
    if (subject_.choice_name() == "energies") FromProbabilitiesToEnergies();
    const std::string& choice = subject_.choice_name();
    compare(("gradient of " + choice).c_str(), kGradientTolerance,
            trained.gradients.at(choice), d_p_);
    if (trained.gradients.contains("chunk_energies")) {
      compare("gradient of chunk_energies", kDifferenceTolerance,
              trained.gradients.at("chunk_energies"), d_chunk_);
    }
    compare("gradient of memory", kValueTolerance,
            trained.gradients.at("memory"), GradientOfMemory());
  }

 private:
  // Its sums are of products of a few probabilities and losses.
  static constexpr double kGradientTolerance = 1e-11;

  double Factor(const Decision& decision) const {
    return decision.z ? subject_.p()(decision.i, decision.j)
                      : subject_.complement()(decision.i, decision.j);
  }
  double Probability(const std::vector<Decision>& decisions) const {
    double product = 1;
    for (const Decision& decision : decisions) product *= Factor(decision);
    return product;
  }
  static void AddScaled(double scale, const Table<double>& from,
                        Table<double>& to) {
    for (std::size_t k = 0; k < to.values.size(); ++k) {
      to.values[k] += scale * from.values[k];
    }
  }

  // d probability / dp(i, j) is the product of all other factors, with the sign
  // of the decision. There is no division, so p may be 0 or 1.
  void AddGradientOfChoices(const std::vector<Decision>& decisions,
                            double loss) {
    std::vector<double> after(decisions.size() + 1, 1.0);
    for (std::size_t n = decisions.size(); n-- > 0;) {
      after[n] = after[n + 1] * Factor(decisions[n]);
    }
    double before = 1;
    for (std::size_t n = 0; n < decisions.size(); ++n) {
      const Decision& decision = decisions[n];
      d_p_.view()(decision.i, decision.j) +=
          (decision.z ? 1 : -1) * before * after[n + 1] * loss;
      before *= Factor(decision);
    }
  }

  // These are central differences with the choices held. Output i depends only
  // on row i of the chunk energies, so a column is moved at once.
  void AddGradientOfChunks(const Table<double>& z, double probability) {
    Table<double>& u = subject_.inputs().arrays().at("chunk_energies");
    const Table<double> kept = u;
    for (Index j = 0; j < T_; ++j) {
      for (const double sign : {1.0, -1.0}) {
        for (Index i = 0; i < U_; ++i) {
          u.view()(i, j) = kept(i, j) + sign * kDifferenceStep;
        }
        subject_.DecodeForced(z, nudged_);
        for (Index i = 0; i < U_; ++i) {
          d_chunk_.view()(i, j) += sign * probability *
                                   subject_.Loss(nudged_, i) /
                                   (2 * kDifferenceStep);
        }
      }
      for (Index i = 0; i < U_; ++i) u.view()(i, j) = kept(i, j);
    }
  }

  void FromProbabilitiesToEnergies() {
    for (std::size_t k = 0; k < d_p_.values.size(); ++k) {
      d_p_.values[k] *=
          subject_.p().values[k] * subject_.complement().values[k];
    }
  }

  // Contexts are sums of entries with the weights of attention.
  Table<double> GradientOfMemory() const {
    const Table<double>& cotangent = subject_.inputs().cotangent_contexts();
    Table<double> d_memory(T_, subject_.d());
    for (Index i = 0; i < U_; ++i) {
      for (Index j = 0; j < T_; ++j) {
        for (Index k = 0; k < subject_.d(); ++k) {
          d_memory.view()(j, k) += attention_(i, j) * cotangent(i, k);
        }
      }
    }
    return d_memory;
  }

  VerifySubject& subject_;
  const bool with_gradients_;
  const Index U_;
  const Index T_;
  double mass_ = 0;
  Table<double> attention_;
  Table<double> selection_;
  Table<double> contexts_;
  Table<double> d_p_;
  Table<double> d_chunk_;
  Decoded nudged_;
};

}  // namespace

Index CompareWithOutcomes(VerifySubject& subject, const Trained& trained,
                          std::vector<Quantity>& quantities) {
  OutcomeSums sums(subject, !trained.gradients.empty());
  Table<double> z(subject.U(), subject.T());
  std::fill(z.values.begin(), z.values.end(), 1.0);
  Decoded decoded = subject.MakeDecoded();
  Index outcomes = 0;
  std::vector<Decision> decisions;
  do {
    subject.DecodeForced(z, decoded);
    decisions = DecisionsOf(decoded.steps);
    CheckObeyed(decisions, z);
    sums.Add(z, decoded, decisions);
    ++outcomes;
  } while (NextOutcome(decisions, z));
  sums.Compare(trained, quantities);
  CompareBothModes(trained, quantities);
  return outcomes;
}

void CompareWithDecoded(VerifySubject& subject, const Trained& trained,
                        std::vector<Quantity>& quantities) {
  Decoded decoded = subject.MakeDecoded();
  subject.Sample(0, decoded);
  quantities.push_back(Quantity::Exact("attention", kValueTolerance));
  quantities.back().CompareExact(trained.attention, decoded.attention);
  quantities.push_back(Quantity::Exact("context", kValueTolerance));
  quantities.back().CompareExact(trained.contexts, decoded.contexts);
  CompareBothModes(trained, quantities);
  const auto loss = [&] {
    subject.Sample(0, decoded);
    return subject.Loss(decoded);
  };
  CompareWithDifferences(subject, trained, loss, quantities);
}

void CompareWithDifferences(VerifySubject& subject, const Trained& trained,
                            const std::function<double()>& loss,
                            std::vector<Quantity>& quantities) {
  for (const auto& [name, gradient] : trained.gradients) {
    quantities.push_back(
        Quantity::Exact("gradient of " + name, kDifferenceTolerance));
    Table<double>& input = subject.inputs().arrays().at(name);
    for (std::size_t n = 0; n < input.values.size(); ++n) {
      const auto place = static_cast<Index>(n);
      quantities.back().CompareExact(
          place / input.cols, place % input.cols, gradient.values[n],
          CentralDifference(input.values[n], kDifferenceStep, loss));
    }
  }
}

void CompareBothModes(const Trained& trained,
                      std::vector<Quantity>& quantities) {
  if (trained.gradients.empty()) return;
  quantities.push_back(
      Quantity::Exact("attention beside gradients", kValueTolerance));
  quantities.back().CompareExact(trained.attention,
                                 trained.attention_beside_gradients);
}

}  // namespace attnbench
