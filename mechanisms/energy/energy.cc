#include "mechanisms/energy/energy.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "mechanisms/common/eigen_views.h"
#include "mechanisms/common/joined_rows.h"
#include "mechanisms/description.h"
#include "mechanisms/energy/additive_pairs.h"
#include "mechanisms/energy/parameters.h"
#include "mechanisms/kernels/kernels.h"

namespace attnbench {
namespace {

bool PrecomputesKeys(const Config& config) {
  return config.Option<std::string>("keys") == "precomputed";
}

// Holds the keys that are made in Append, one row [d] an entry.
template <class Real>
class KeyStore {
 public:
  KeyStore(Index dim, Index expected_length) : dim_(dim) {
    keys_.reserve(Size(expected_length * dim));
  }
  // Makes room for `count` more keys.
  MatrixMap<Real> Extend(Index count) {
    const std::size_t old_size = keys_.size();
    keys_.resize(old_size + Size(count * dim_));
    return {keys_.data() + old_size, count, dim_, Eigen::OuterStride<>(dim_)};
  }
  const Real* Row(Index j) const { return keys_.data() + j * dim_; }

 private:
  Index dim_;
  UnsetBuffer<Real> keys_;
};

template <class Real>
class EnergyFromStates : public Energy<Real> {
 public:
  EnergyFromStates(const Config& config, const SequenceInputs<Real>& inputs,
                   EnergyRole role)
      : kernels_(BestKernels<Real>()),
        dim_(config.dim),
        bias_(role == EnergyRole::kAttention ? inputs.energy_bias : Real{0}) {}

  void SetStates(Index /*count*/, std::span<const Real> states) override {
    states_ = states;
  }
  void UseState(Index output, Index n) override {
    this->SetState(output, OneState(states_, n));
  }
  void EvaluateAll(std::span<const Real> states,
                   MatrixView<Real> energies) override {
    for (Index i = 0; i < energies.rows; ++i) {
      this->SetState(i, OneState(states, i));
      this->Evaluate(0, energies.cols, energies.Row(i).data());
    }
  }

 protected:
  std::span<const Real> OneState(std::span<const Real> states, Index i) const {
    return states.subspan(Size(i * dim_), Size(dim_));
  }
  void AddBias(Index count, Real* energies) const {
    if (bias_ == Real{0}) return;
    for (Index n = 0; n < count; ++n) energies[n] += bias_;
  }

  const Kernels<Real>& kernels_;
  const Index dim_;
  const Real bias_;

 private:
  std::span<const Real> states_;  // of SetStates
};

template <class Real>
class DotEnergy final : public EnergyFromStates<Real> {
 public:
  DotEnergy(const Config& config, const SequenceInputs<Real>& inputs,
            EnergyRole role)
      : EnergyFromStates<Real>(config, inputs, role),
        is_chunk_(role == EnergyRole::kChunk) {
    if (!is_chunk_) return;
    keys_.Append(inputs.further.Find(kChunkKeysInput.name));
    chunk_states_ = inputs.further.Find(kChunkStatesInput.name);
  }

  void Append(const MatrixView<const Real>& memory) override {
    if (!is_chunk_) keys_.Append(memory);
  }
  void SetState(Index output, std::span<const Real> state) override {
    ATTN_CHECK(!is_chunk_ || chunk_states_.data != nullptr);
    query_ = is_chunk_ ? chunk_states_.Row(output).data() : state.data();
  }
  void Evaluate(Index first, Index count, Real* energies) override {
    const MatrixView<const Real>& keys = keys_.all();
    this->kernels_.dot_rows(query_, keys.data + first * keys.row_stride,
                            keys.row_stride, count, this->dim_, energies);
    this->AddBias(count, energies);
  }
  void EvaluateAll(std::span<const Real> states,
                   MatrixView<Real> energies) override {
    const MatrixView<const Real> queries =
        is_chunk_
            ? chunk_states_.Rows(0, energies.rows)
            : MatrixView<const Real>(states.data(), energies.rows, this->dim_);
    MatrixMap<Real> out = Map(energies);
    out.noalias() =
        Map(queries) * Map(keys_.all().Rows(0, energies.cols)).transpose();
    if (this->bias_ != Real{0}) out.array() += this->bias_;
  }

 private:
  JoinedRows<Real> keys_;  // the memory, or chunk_keys
  const bool is_chunk_;
  MatrixView<const Real> chunk_states_;
  const Real* query_ = nullptr;
};

// Serves bilinear and scaled_bilinear.
template <class Real>
class BilinearEnergy final : public EnergyFromStates<Real> {
 public:
  BilinearEnergy(const Config& config, const SequenceInputs<Real>& inputs,
                 EnergyRole role)
      : EnergyFromStates<Real>(config, inputs, role),
        precomputed_(PrecomputesKeys(config)),
        g_(static_cast<Real>(EnergyScale(config, inputs))),
        W_(GetEnergyParameters(config, *inputs.parameters, role).W),
        keys_(config.dim, precomputed_ ? inputs.expected_length : 0),
        query_(precomputed_ ? 0 : Size(config.dim)) {}

  void Append(const MatrixView<const Real>& rows) override {
    memory_.Append(rows);
    if (precomputed_) {
      keys_.Extend(rows.rows).noalias() = g_ * Map(rows) * Map(W_).transpose();
    }
  }
  void SetState(Index /*output*/, std::span<const Real> state) override {
    state_ = state.data();
    if (precomputed_) return;
    VectorMap<Real>(query_.data(), this->dim_).noalias() =
        g_ * Map(W_).transpose() * ConstVectorMap<Real>(state_, this->dim_);
  }
  void Evaluate(Index first, Index count, Real* energies) override {
    if (precomputed_) {
      this->kernels_.dot_rows(state_, keys_.Row(first), this->dim_, count,
                              this->dim_, energies);
    } else {
      const MatrixView<const Real>& memory = memory_.all();
      this->kernels_.dot_rows(query_.data(),
                              memory.data + first * memory.row_stride,
                              memory.row_stride, count, this->dim_, energies);
    }
    this->AddBias(count, energies);
  }

 private:
  const bool precomputed_;
  const Real g_;
  const MatrixView<const Real> W_;
  JoinedRows<Real> memory_;
  KeyStore<Real> keys_;  // g W h, where precomputed
  Buffer<Real> query_;   // g W^T s, where not
  const Real* state_ = nullptr;
};

// Serves additive and normalized_additive.
template <class Real>
class AdditiveEnergy final : public EnergyFromStates<Real> {
 public:
  AdditiveEnergy(const Config& config, const SequenceInputs<Real>& inputs,
                 EnergyRole role, EnergyUse use)
      : EnergyFromStates<Real>(config, inputs, role),
        precomputed_(PrecomputesKeys(config)),
        parameters_(GetEnergyParameters(config, *inputs.parameters, role)),
        v_(MakeV(config, inputs)),
        keys_(v_, precomputed_ ? inputs.expected_length : 0,
              precomputed_ && use == EnergyUse::kMany),
        key_(precomputed_ ? 0 : Size(config.dim)),
        query_(Size(config.dim)) {}

  void Append(const MatrixView<const Real>& rows) override {
    memory_.Append(rows);
    if (precomputed_) {
      MatrixMap<Real> keys = Map(keys_.Extend(rows.rows));
      keys.noalias() = Map(rows) * Map(parameters_.V).transpose();
      keys.rowwise() += Map(parameters_.b).row(0);
      keys_.Finish();
    }
  }
  void SetState(Index /*output*/, std::span<const Real> state) override {
    VectorMap<Real>(query_.data(), this->dim_).noalias() =
        Map(parameters_.W) * ConstVectorMap<Real>(state.data(), this->dim_);
    query_at_ = query_.data();
    Factor(query_);
  }
  void SetStates(Index count, std::span<const Real> states) override {
    queries_.resize(Size(count * this->dim_));
    Map(MatrixView<Real>(queries_.data(), count, this->dim_)).noalias() =
        Map(MatrixView<const Real>(states.data(), count, this->dim_)) *
        Map(parameters_.W).transpose();
    Factor(queries_);
  }
  void UseState(Index /*output*/, Index n) override {
    query_at_ = &queries_[Size(n * this->dim_)];
    exp_query_at_ = keys_.factored() ? n * this->dim_ : 0;
  }
  // All states are projected by one matrix product: alone each reads W again.
  void EvaluateAll(std::span<const Real> states,
                   MatrixView<Real> energies) override {
    SetStates(energies.rows, states);
    for (Index i = 0; i < energies.rows; ++i) {
      UseState(i, i);
      Evaluate(0, energies.cols, energies.Row(i).data());
    }
  }
  void Evaluate(Index first, Index count, Real* energies) override {
    if (precomputed_) {
      keys_.Evaluate(query_at_, exp_queries_.data() + exp_query_at_, first,
                     count, energies);
    } else {
      for (Index n = 0; n < count; ++n)
        EvaluateOnDemand(first + n, energies + n);
    }
    this->AddBias(count, energies);
  }

 private:
  Buffer<Real> MakeV(const Config& config,
                     const SequenceInputs<Real>& inputs) const {
    Buffer<Real> v(parameters_.v.data, parameters_.v.data + config.dim);
    if (!IsScaled(config.energy)) return v;
    const double g = EnergyScale(config, inputs);
    this->kernels_.scale(static_cast<Real>(g / NormOf(parameters_.v)),
                         config.dim, v.data());
    return v;
  }
  void Factor(const Buffer<Real>& queries) {
    if (!keys_.factored()) return;
    exp_queries_.resize(queries.size());
    FactorQueries(std::ssize(queries) / this->dim_, this->dim_, queries.data(),
                  exp_queries_.data());
    exp_query_at_ = 0;
  }
  void EvaluateOnDemand(Index j, Real* energy) {
    VectorMap<Real> key(key_.data(), this->dim_);
    const ConstVectorMap<Real> entry(memory_.all().Row(j).data(), this->dim_);
    key.noalias() = Map(parameters_.V) * entry;
    key += Map(parameters_.b).row(0).transpose();
    this->kernels_.additive_rows(query_at_, key.data(), this->dim_, v_.data(),
                                 1, this->dim_, energy);
  }

  const bool precomputed_;
  const EnergyParameters<Real> parameters_;
  JoinedRows<Real> memory_;
  const Buffer<Real> v_;      // v, or g v / |v|
  AdditiveKeys<Real> keys_;   // V h + b of all entries, where precomputed
  Buffer<Real> exp_queries_;  // exp of twice W s, where factored
  Index exp_query_at_ = 0;
  Buffer<Real> key_;      // V h + b of the entry at hand, where not
  Buffer<Real> query_;    // W s
  Buffer<Real> queries_;  // W s of each hypothesis
  const Real* query_at_ = nullptr;
};

// Computes energies, and then overwrites them with those that were captured.
// The copy of a number is small beside the 2 d flops of an energy.
template <class Real>
class CapturedEnergy final : public Energy<Real> {
 public:
  CapturedEnergy(std::unique_ptr<Energy<Real>> computed,
                 const MatrixView<const Real>& captured)
      : computed_(std::move(computed)), captured_(captured) {}

  void Append(const MatrixView<const Real>& memory) override {
    computed_->Append(memory);
  }
  void SetState(Index output, std::span<const Real> state) override {
    computed_->SetState(output, state);
    output_ = output;
  }
  void SetStates(Index count, std::span<const Real> states) override {
    computed_->SetStates(count, states);
  }
  void UseState(Index output, Index n) override {
    computed_->UseState(output, n);
    output_ = output;
  }
  void Evaluate(Index first, Index count, Real* energies) override {
    computed_->Evaluate(first, count, energies);
    std::copy_n(captured_.Row(output_).data() + first, count, energies);
  }
  void EvaluateAll(std::span<const Real> states,
                   MatrixView<Real> energies) override {
    computed_->EvaluateAll(states, energies);
    for (Index i = 0; i < energies.rows; ++i) {
      std::copy_n(captured_.Row(i).data(), energies.cols,
                  energies.Row(i).data());
    }
  }

 private:
  const std::unique_ptr<Energy<Real>> computed_;
  const MatrixView<const Real> captured_;
  Index output_ = 0;
};

// Looks energies up in a table with a row for each output.
template <class Real>
class GivenEnergy final : public Energy<Real> {
 public:
  explicit GivenEnergy(const GivenScore<Real>& score) : score_(score) {}

  void Append(const MatrixView<const Real>& /*memory*/) override {}
  void SetState(Index output, std::span<const Real> /*state*/) override {
    output_ = output;
  }
  void SetStates(Index /*count*/, std::span<const Real> /*states*/) override {}
  void UseState(Index output, Index /*n*/) override { output_ = output; }
  void Evaluate(Index first, Index count, Real* energies) override {
    const Real* row = score_.table.Row(output_).data() + first;
    std::copy(row, row + count, energies);
  }
  void EvaluateAll(std::span<const Real> /*states*/,
                   MatrixView<Real> energies) override {
    for (Index i = 0; i < energies.rows; ++i) {
      SetState(i, {});
      Evaluate(0, energies.cols, energies.Row(i).data());
    }
  }
  bool gives_probabilities() const override { return score_.probabilities; }

 private:
  const GivenScore<Real> score_;
  Index output_ = 0;
};

template <class Real>
std::unique_ptr<Energy<Real>> MakeComputedEnergy(
    const Config& config, const SequenceInputs<Real>& inputs, EnergyRole role,
    EnergyUse use) {
  switch (config.energy) {
    case EnergyKind::kDot:
      return std::make_unique<DotEnergy<Real>>(config, inputs, role);
    case EnergyKind::kBilinear:
    case EnergyKind::kScaledBilinear:
      return std::make_unique<BilinearEnergy<Real>>(config, inputs, role);
    case EnergyKind::kAdditive:
    case EnergyKind::kNormalizedAdditive:
      return std::make_unique<AdditiveEnergy<Real>>(config, inputs, role, use);
  }
  ATTN_CHECK(false);
}

}  // namespace

template <class Real>
GivenScore<Real> FindGivenScore(const SequenceInputs<Real>& inputs,
                                EnergyRole role) {
  const auto find = [&](const InputSpec& input) {
    return inputs.scores.Find(input.name);
  };
  if (role == EnergyRole::kChunk) {
    const MatrixView<const Real> chunk = find(kChunkEnergiesInput);
    if (chunk.data == nullptr)
      throw Unsupported("no chunk energies were given");
    return {chunk};
  }
  const MatrixView<const Real> p = find(kProbabilitiesInput);
  if (p.data != nullptr) return {p, true};
  const MatrixView<const Real> energies = find(kEnergiesInput);
  if (energies.data == nullptr) {
    throw Unsupported("neither p_choose nor energies were given");
  }
  return {energies};
}

template <class Real>
std::unique_ptr<Energy<Real>> MakeEnergy(const Config& config,
                                         const SequenceInputs<Real>& inputs,
                                         EnergyRole role, EnergyUse use) {
  if (!inputs.scores.empty()) {
    return std::make_unique<GivenEnergy<Real>>(FindGivenScore(inputs, role));
  }
  const MatrixView<const Real> captured = FindCaptured(inputs, role);
  if (captured.data != nullptr) {
    return std::make_unique<CapturedEnergy<Real>>(
        MakeComputedEnergy(config, inputs, role, use), captured);
  }
  return MakeComputedEnergy(config, inputs, role, use);
}

EnergyCost CostOfEnergy(const Config& config, EnergyRole role, EnergyUse use,
                        bool scores_given) {
  const auto d = static_cast<double>(config.dim);
  EnergyCost cost;
  if (scores_given) return cost;
  cost.rows_per_energy = 1;
  cost.rows_per_state = 1;
  if (config.energy == EnergyKind::kDot) {
    cost.flops_per_energy = 2 * d;
    cost.reads_memory = role == EnergyRole::kAttention;
    return cost;
  }
  const bool precomputed = PrecomputesKeys(config);
  const double project = 2 * d * d;
  if (IsAdditive(config.energy)) {
    // A state takes W s, an entry V h + b, and an energy an addition, a tanh, a
    // multiplication and an addition for each of its d terms.
    cost.flops_per_state = project;
    cost.rows_per_state += d;
    cost.flops_per_energy = 4 * d;
    if (precomputed) {
      cost.flops_per_entry = project + d;
      cost.rows_per_entry = 2;
      if (use == EnergyUse::kMany) {
        // An exp and a doubling of each number. Two terms take two products
        // with an addition, three products, two additions and a division.
        cost.flops_per_entry += 2 * d;
        cost.flops_per_state += 2 * d;
        cost.flops_per_energy = 5 * d;
      }
    } else {
      cost.flops_per_energy += project + d;
      cost.parameter_rows_per_energy = d;
      cost.reads_memory = true;
    }
    return cost;
  }
  cost.flops_per_energy = 2 * d;
  if (precomputed) {
    cost.flops_per_entry = project;
    cost.rows_per_entry = 2;
  } else {
    cost.flops_per_state = project;
    cost.rows_per_state += d;
    cost.reads_memory = true;
  }
  return cost;
}

bool TakesEnergiesAlone(const Description& description) {
  const auto has_energies = [](const std::vector<InputSpec>& list) {
    return std::ranges::any_of(list, [](const InputSpec& score) {
      return score.name == kEnergiesInput.name ||
             score.name == kChunkEnergiesInput.name;
    });
  };
  return HasMode(description, Mode::kGradient) &&
         FindScore(description, kEnergiesInput.name) != nullptr &&
         std::ranges::all_of(description.scores, has_energies);
}

OptionSpec KeysOption() {
  return {.name = "keys",
          .default_value = std::string("precomputed"),
          .allowed = {"precomputed", "on_demand"},
          .help =
              "what depends on a memory entry alone is made once a "
              "sequence, or for every energy (all but dot)"};
}

template GivenScore<float> FindGivenScore(const SequenceInputs<float>&,
                                          EnergyRole);
template GivenScore<double> FindGivenScore(const SequenceInputs<double>&,
                                           EnergyRole);
template std::unique_ptr<Energy<float>> MakeEnergy(const Config&,
                                                   const SequenceInputs<float>&,
                                                   EnergyRole, EnergyUse);
template std::unique_ptr<Energy<double>> MakeEnergy(
    const Config&, const SequenceInputs<double>&, EnergyRole, EnergyUse);

}  // namespace attnbench
