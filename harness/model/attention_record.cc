#include "harness/model/attention_record.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace attnbench {

template <class Real>
AttentionRecord<Real>::AttentionRecord(Translator<Real>& translator,
                                       const TranslationTask& task, Index beam)
    : alone_(beam == 1), captured_(task.captured) {
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
  attention.Start({memory_.data(), memory_length_, dim_}, alone_, captured_);
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
    for (std::size_t row = 0; row < parents.size(); ++row) {
      reads.outputs += 1;
      bool is_zero = true;
      const auto on_head = [&](const StepResult<Real>& head) {
        reads.energies += static_cast<double>(head.inspected);
        // As DelaysOf has it, one that weighs nothing has waited for the end.
        const bool is_empty = head.begin == head.end;
        is_zero = is_zero && is_empty;
        reached[row] =
            std::max(reached[row],
                     static_cast<double>(is_empty ? memory_length_ : head.end));
      };
      ForEachHead(attention.results()[row], on_head);
      reads.zero_contexts += is_zero ? 1 : 0;
    }
    delays.push_back(reached);
  });
  for (std::size_t last = 0; last < reached.size(); ++last) {
    std::vector<double>& path = reads.delays.emplace_back(delays.size());
    std::size_t row = last;
    for (std::size_t i = delays.size(); i-- > 0;) {
      path[i] = delays[i][row];
      row = Size(parents_[i][row]);
    }
  }
  reads.furthest = std::accumulate(reached.begin(), reached.end(), 0.0) /
                   static_cast<double>(reached.size());
  return reads;
}

template class AttentionRecord<float>;
template class AttentionRecord<double>;

}  // namespace attnbench
