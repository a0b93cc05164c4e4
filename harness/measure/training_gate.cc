#include "harness/measure/training_gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <vector>

#include "harness/measure/gate_rounding.h"

namespace attnbench {
namespace {

// An array as a run left it, with its rows without padding.
template <class Real>
struct Made {
  Index cols = 0;
  std::vector<Real> values;
};
template <class Real>
using MadeArrays = std::map<std::string, Made<Real>>;

template <class Real>
void ForgetOutputs(std::span<const TrainingSequence<Real>> batch) {
  for (const TrainingSequence<Real>& one : batch) {
    for (const NamedArray<Real>& array : OutputsOf(one)) Forget(array.values);
  }
}

// Collects everything that the sequence and the parameters hold now.
template <class Real>
MadeArrays<Real> Collect(const TrainingSequence<Real>& one) {
  MadeArrays<Real> made;
  for (const auto& [name, values] : OutputsOf(one)) {
    made[name] = {values.cols,
                  {values.data, values.data + values.rows * values.cols}};
  }
  if (one.gradients.parameters == nullptr) return made;
  for (const auto& [name, values] : one.gradients.parameters->arrays()) {
    made["gradient of " + name] = {static_cast<Index>(values.size()),
                                   {values.begin(), values.end()}};
  }
  return made;
}

template <class Real>
bool SameBits(const MadeArrays<Real>& a, const MadeArrays<Real>& b) {
  return std::ranges::equal(a, b, [](const auto& one, const auto& other) {
    const std::vector<Real>& x = one.second.values;
    const std::vector<Real>& y = other.second.values;
    return one.first == other.first && x.size() == y.size() &&
           std::memcmp(x.data(), y.data(), x.size() * sizeof(Real)) == 0;
  });
}

// The array of that name, or a view without data.
template <class Real>
MatrixView<const Real> View(const MadeArrays<Real>& made,
                            const std::string& name) {
  const auto found = made.find(name);
  if (found == made.end()) return {};
  const Made<Real>& array = found->second;
  return {array.values.data(),
          static_cast<Index>(array.values.size()) / array.cols, array.cols};
}

// The largest element of the cotangent, and of dL/d attention that follows from
// it.
template <class Real>
double LargestCotangent(const TrainingSequence<Real>& one) {
  const MatrixView<const Real>& of_contexts = one.cotangent.contexts;
  const MatrixView<const Real>& h = one.sequence.memory;
  double largest = std::max(LargestAbsolute(one.cotangent.attention),
                            LargestAbsolute(of_contexts));
  for (Index i = 0; i < of_contexts.rows; ++i) {
    for (Index j = 0; j < h.rows; ++j) {
      const double of_attention = std::inner_product(
          h.Row(j).begin(), h.Row(j).end(), of_contexts.Row(i).begin(), 0.0);
      largest = std::max(largest, std::abs(of_attention));
    }
  }
  return largest;
}

// How many times the L1 error of a row of attention, or for gradients of
// energies of the last row, an element of an array may be off because of it.
// Nothing for arrays that such an error says little about.
//
// For dL/de banded_selection.h has the proof. With s_k the softmax of the chunk
// that ends at k, beta(i, .) = sum over k of alpha(i, k) s_k, so
//
//   dL/du(i, j) = sum over k of alpha(i, k) s_k(j) (D(j) - s_k . D)
//
// where D(j) - s_k . D is at most (1 - s_k(j)) 2 D, and s (1 - s) at most 1/4.
template <class Real>
std::optional<double> ErrorOfUnit(const TrainingSequence<Real>& one,
                                  const std::string& name) {
  if (name == "attention") return 1;
  if (name == "contexts") return LargestAbsolute(one.sequence.memory);
  const double D = LargestCotangent(one);
  const double U = static_cast<double>(one.expectation.attention.rows);
  if (name == "gradient of " + kEnergiesInput.name) return 1.5 * U * D;
  if (name == "gradient of " + kChunkEnergiesInput.name) return D / 2;
  return std::nullopt;
}

// The size of each array's elements, by the reference's results.
template <class Real>
class Scales {
 public:
  Scales(const TrainingSequence<Real>& one, const MadeArrays<Real>& reference)
      : attention_(View(reference, "attention")),
        largest_entry_(LargestAbsolute(one.sequence.memory)) {
    least_of_gradients_ = LargestAbsolute(attention_) * LargestCotangent(one);
  }

  // One a row of the array.
  std::vector<double> operator()(
      const std::string& name, const MatrixView<const Real>& reference) const {
    if (name != "attention" && name != "contexts") {
      const bool is_scalar = reference.rows * reference.cols == 1;
      const Index terms =
          is_scalar ? attention_.rows * attention_.cols : Index{1};
      const double scale =
          std::max(LargestAbsolute(reference),
                   least_of_gradients_ * std::sqrt(static_cast<double>(terms)));
      return std::vector<double>(Size(reference.rows), scale);
    }
    std::vector<double> of_rows;
    for (Index i = 0; i < reference.rows; ++i) {
      of_rows.push_back(LargestAbsolute(reference.Rows(i, 1)));
      if (name == "attention") continue;
      of_rows.back() = std::max(
          of_rows.back(), LargestNorm(attention_.Rows(i, 1)) * largest_entry_);
    }
    return of_rows;
  }

 private:
  const MatrixView<const Real> attention_;
  const double largest_entry_;
  double least_of_gradients_ = 0;
};

// Says how far each row of an array may be off because of what was cut: row i
// of attention by the certificate mass_cut[i], or where there is none by
// `bound`. False for arrays that are not looked at.
template <class Real>
bool AllowCut(const TrainingSequence<Real>& one, const std::string& name,
              double bound, std::span<const double> mass_cut,
              std::span<double> allowed) {
  const std::optional<double> error = ErrorOfUnit(one, name);
  if (!error) return false;
  // An energy has a part in the rows that follow, too.
  const bool has_later = name == "gradient of " + kEnergiesInput.name;
  for (std::size_t i = 0; i < allowed.size(); ++i) {
    const double cut = mass_cut.empty() ? bound
                       : has_later      ? mass_cut.back()
                                        : mass_cut[i];
    allowed[i] = *error * std::min(bound, cut);
  }
  return true;
}

// The gradient of a parameter that nobody asked for is zero.
template <class Real>
void AddMissingParameters(const MadeArrays<Real>& from, MadeArrays<Real>& to) {
  for (const auto& [name, array] : from) {
    if (name == "attention") continue;
    to.try_emplace(
        name, Made<Real>{array.cols, std::vector<Real>(array.values.size())});
  }
}

template <class Real>
double RelativeBound(const TrainingSequence<Real>& one, const Config& config,
                     bool must_agree) {
  const MatrixView<Real>& attention = one.expectation.attention;
  const auto factors = static_cast<double>(attention.rows + attention.cols);
  const double relative = std::expm1(EnergyRounding(one.sequence, config)) +
                          8 * kRoundoff<Real> * std::sqrt(factors);
  if (must_agree && !(relative < 0.5)) {
    throw std::runtime_error(fmt::format(
        "rounding may move an output by {:.3g} times what it is; it cannot "
        "be checked in this precision",
        relative));
  }
  return relative;
}

template <class Real>
double SumOfAbsolute(std::span<const Real> row) {
  return std::accumulate(row.begin(), row.end(), 0.0, [](double sum, Real x) {
    return sum + std::abs(static_cast<double>(x));
  });
}

template <class Real>
class TrainingGate {
 public:
  TrainingGate(const Mechanism<Real>& mechanism, const Config& config,
               const TrainingRequest& request, int threads,
               PointInputs<Real>& inputs, PeerCell<Real>* peer)
      : mechanism_(mechanism),
        config_(config),
        reference_config_(config),
        request_(request),
        threads_(threads),
        inputs_(inputs),
        peer_(peer),
        must_agree_(peer == nullptr ? MustAgree(mechanism.Describe(), config)
                                    : peer->must_agree()) {
    reference_config_.variant = "reference";
    if (peer == nullptr) {
      const std::string& option = VariantOf(mechanism.Describe(), config).bound;
      if (!option.empty()) bound_ = config.Option<double>(option);
    }
    if (!must_agree_) {
      result_.error_bound = std::numeric_limits<double>::quiet_NaN();
    }
  }

  GateResult Run() {
    const int num_draws = inputs_.num_training_draws(request_.attention_only);
    for (int draw = 0; draw < num_draws && result_.message.empty(); ++draw) {
      const double budget =
          draw == 0 ? kReferenceBudget / 2
                    : kReferenceBudget / 2 / std::max(1, num_draws - 1);
      request_.most_outputs = MostOutputs(budget, draw);
      CheckDraw(draw);
    }
    return result_;
  }

 private:
  // The number of outputs that the reference can make with the budget of
  // multiply-adds.
  Index MostOutputs(double budget, int draw) {
    double of_an_output = 1;
    for (const Sequence<Real>& sequence :
         inputs_.workload().Draw(draw, config_.energy)) {
      const auto T = static_cast<double>(sequence.memory.rows);
      const auto d = static_cast<double>(config_.dim);
      of_an_output +=
          T * (T + (config_.energy == EnergyKind::kDot ? d : d * d));
    }
    return std::max<Index>(1, static_cast<Index>(budget / of_an_output));
  }

  void CheckDraw(int draw) {
    std::vector<ParameterGradients<Real>> parameters;
    TrainingBatch<Real> batch = inputs_.Training(draw, config_, request_);
    batch.AddParametersTo(parameters);
    if (peer_ != nullptr) return CheckDrawOfPeer(draw, batch.sequences);
    std::vector<MadeArrays<Real>> alone;
    for (std::size_t b = 0; b < batch.sequences.size(); ++b) {
      BandReport band;
      alone.push_back(RunAlone(config_, batch.sequences[b], &band));
      CompareWithReference(alone[b], band.mass_cut, draw, b);
      if (!result_.message.empty()) return;
    }
    parameters.clear();
    batch.AddParametersTo(parameters);
    const std::span<const TrainingSequence<Real>> all(batch.sequences);
    ForgetOutputs(all);
    TrainBatch(mechanism_, config_, all, threads_);
    for (std::size_t b = 0; b < all.size(); ++b) {
      if (SameBits(Collect(all[b]), alone[b])) continue;
      result_.message = fmt::format(
          "sequence {} of draw {}: in a batch on {} threads it does not give "
          "the bits that it gives alone",
          b + 1, draw, threads_);
      return;
    }
  }

  void CheckDrawOfPeer(int draw,
                       std::span<const TrainingSequence<Real>> batch) {
    ForgetOutputs(batch);
    peer_->Train(batch);
    std::vector<MadeArrays<Real>> found;
    for (const auto& one : batch) found.push_back(Collect(one));
    for (std::size_t b = 0; b < found.size() && result_.message.empty(); ++b) {
      CompareWithReference(found[b], {}, draw, b);
    }
  }

  MadeArrays<Real> RunAlone(const Config& config, TrainingSequence<Real> one,
                            BandReport* band = nullptr) const {
    one.expectation.band = band;
    const std::span<const TrainingSequence<Real>> alone(&one, 1);
    ForgetOutputs(alone);
    TrainBatch(mechanism_, config, alone, 1);
    return Collect(one);
  }

  // `mass_cut` has the certificate of each row, or nothing: then the bound.
  void CompareWithReference(const MadeArrays<Real>& found,
                            std::span<const double> mass_cut, int draw,
                            std::size_t b) {
    TrainingRequest request = request_;
    request.want_attention = true;  // for the scales
    std::vector<ParameterGradients<Real>> parameters;
    TrainingBatch<Real> batch =
        inputs_.Training(draw, reference_config_, request);
    batch.AddParametersTo(parameters);
    const TrainingSequence<Real>& one = batch.sequences[b];
    MadeArrays<Real> reference = RunAlone(reference_config_, one);
    MadeArrays<Real> all_found = found;
    AddMissingParameters(reference, all_found);
    AddMissingParameters(all_found, reference);
    const double relative = RelativeBound(one, config_, must_agree_);
    const Scales<Real> scales(one, reference);
    const std::string place = fmt::format("draw {}, sequence {}", draw, b + 1);
    for (const auto& [name, array] : all_found) {
      const MatrixView<const Real> expected = View(reference, name);
      std::vector<double> allowed(Size(expected.rows));
      if (bound_ && !AllowCut(one, name, *bound_, mass_cut, allowed)) continue;
      CompareArray(name, View(all_found, name), expected, scales, relative,
                   allowed, one.expectation.attention.cols, place);
      if (!result_.message.empty()) return;
    }
  }

  // The bound of a row. Each of so many terms may underflow.
  double Bound(double relative, double scale, double allowed, Index terms) {
    if (!must_agree_) return 0;
    const double bound =
        relative * scale + allowed +
        static_cast<double>(terms) * std::numeric_limits<Real>::min();
    result_.error_bound = std::max(result_.error_bound, bound);
    return bound;
  }

  void CompareArray(const std::string& name,
                    const MatrixView<const Real>& found,
                    const MatrixView<const Real>& reference,
                    const Scales<Real>& scales, double relative,
                    std::span<const double> allowed, Index terms,
                    const std::string& place) {
    if (found.rows != reference.rows || found.cols != reference.cols) {
      result_.message = fmt::format(
          "{} of {} has another shape than the "
          "reference's",
          name, place);
      return;
    }
    // A certificate is one of whole rows: it holds for the sum of their errors.
    const bool sums_rows = bound_ && name == "attention";
    const std::vector<double> of_rows = scales(name, reference);
    for (Index i = 0; i < found.rows; ++i) {
      const double scale =
          sums_rows ? SumOfAbsolute(reference.Row(i)) : of_rows[Size(i)];
      const double bound = Bound(relative, scale, allowed[Size(i)],
                                 sums_rows ? terms * found.cols : terms);
      double sum = 0;
      for (Index j = 0; j < found.cols; ++j) {
        const double of_element =
            std::abs(static_cast<double>(found(i, j)) -
                     static_cast<double>(reference(i, j)));
        sum += of_element;
        const double error = sums_rows ? sum : of_element;
        // Both conditions are written so that NaN is kept, and fails.
        if (!std::isnan(result_.error) && !(error <= result_.error)) {
          result_.error = error;
        }
        if (!must_agree_ || error <= bound) continue;
        result_.message = fmt::format(
            "{} [{}{}] of {}: differs by {:.3g} from the reference, bound "
            "{:.3g}",
            name, i + 1, sums_rows ? "" : fmt::format(", {}", j + 1), place,
            error, bound);
        return;
      }
    }
  }

  const Mechanism<Real>& mechanism_;
  const Config& config_;
  Config reference_config_;
  TrainingRequest request_;
  const int threads_;
  PointInputs<Real>& inputs_;
  PeerCell<Real>* const peer_;
  const bool must_agree_;
  std::optional<double> bound_;  // of a variant's L1 error
  GateResult result_;
};

}  // namespace

template <class Real>
GateResult CheckTraining(const Mechanism<Real>& mechanism, const Config& config,
                         const TrainingRequest& request, int threads,
                         PointInputs<Real>& inputs, PeerCell<Real>* peer) {
  return TrainingGate<Real>(mechanism, config, request, threads, inputs, peer)
      .Run();
}

template GateResult CheckTraining(const Mechanism<float>&, const Config&,
                                  const TrainingRequest&, int,
                                  PointInputs<float>&, PeerCell<float>*);
template GateResult CheckTraining(const Mechanism<double>&, const Config&,
                                  const TrainingRequest&, int,
                                  PointInputs<double>&, PeerCell<double>*);

}  // namespace attnbench
