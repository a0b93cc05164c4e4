#include "harness/model/attention_record.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace attnbench {

template <class Real>
AttentionRecord<Real>::AttentionRecord(Translator<Real>& translator,
                                       const TranslationTask& task, Index beam)
    : alone_(beam == 1) {
  translator.Observe([this](std::span<const Index> parents,
                            const MatrixView<const Real>& states) {
    parents_.emplace_back(parents.begin(), parents.end());
    states_.insert(states_.end(), states.data,
                   states.data + states.rows * states.cols);
  });
  if (alone_) {
    translator.Greedy(task);
  } else {
    translator.BeamSearch(task, beam);
  }
  translator.Observe(nullptr);
  const MatrixView<const Real>& memory = translator.encoded().memory;
  dim_ = memory.cols;
  memory_length_ = memory.rows;
  memory_.assign(memory.data, memory.data + memory.rows * memory.cols);
  contexts_.resize(Size(beam * dim_));
}

template <class Real>
template <class OnStep>
void AttentionRecord<Real>::ReplaySteps(BeamAttention<Real>& attention,
                                        const OnStep& on_step) {
  attention.Start({memory_.data(), memory_length_, dim_}, alone_);
  const Real* states = states_.data();
  for (const std::vector<Index>& parents : parents_) {
    const auto rows = static_cast<Index>(parents.size());
    attention.Step({states, rows, dim_}, parents,
                   {contexts_.data(), rows, dim_});
    states += rows * dim_;
    on_step(parents);
  }
}

template <class Real>
void AttentionRecord<Real>::Replay(BeamAttention<Real>& attention) {
  ReplaySteps(attention, [](std::span<const Index>) {});
}

template <class Real>
AttentionReads AttentionRecord<Real>::Reads(BeamAttention<Real>& attention) {
  AttentionReads reads;
  std::vector<double> reached = {0};        // of each row, along its parents
  std::vector<std::vector<double>> delays;  // of each step's rows
  ReplaySteps(attention, [&](std::span<const Index> parents) {
    const std::vector<double> before = std::move(reached);
    reached.clear();
    for (const Index parent : parents) reached.push_back(before[Size(parent)]);
    std::vector<double>& of_step = delays.emplace_back();
    for (std::size_t row = 0; row < parents.size(); ++row) {
      reads.outputs += 1;
      bool is_zero = true;
      const auto on_head = [&](const StepResult<Real>& head) {
        reads.energies += static_cast<double>(head.inspected);
        is_zero = is_zero && head.begin == head.end;
        // A head that inspected entries and chose none has read all of them.
        const bool read_all = head.position < 0 && head.inspected > 0;
        reached[row] =
            std::max(reached[row],
                     static_cast<double>(read_all ? memory_length_ : head.end));
      };
      ForEachHead(attention.results()[row], on_head);
      reads.zero_contexts += is_zero ? 1 : 0;
      of_step.push_back(is_zero ? static_cast<double>(memory_length_)
                                : reached[row]);
    }
  });
  for (std::size_t last = 0; last < reached.size(); ++last) {
    std::vector<double>& path = reads.delays.emplace_back(delays.size());
    std::size_t row = last;
    for (std::size_t i = delays.size(); i-- > 0;) {
      path[i] = delays[i][row];
      row = Size(parents_[i][row]);
    }
    for (std::size_t i = 1; i < path.size(); ++i) {
      path[i] = std::max(path[i], path[i - 1]);
    }
  }
  reads.furthest = std::accumulate(reached.begin(), reached.end(), 0.0) /
                   static_cast<double>(reached.size());
  return reads;
}

template class AttentionRecord<float>;
template class AttentionRecord<double>;

}  // namespace attnbench
