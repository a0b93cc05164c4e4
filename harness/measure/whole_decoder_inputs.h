// What the whole decoders of a point share: sources and weights.
//
// Workload captured:FILE: a source for each captured sequence, with its entries
// and outputs, of which the last is the end symbol, and no empty one.
//
// A point has a longest source T, which has U outputs, d units, B sources, a
// vocabulary, a beam and a workload copy:S. The B sources have lengths drawn
// from 0..T (SourceLengths), and outputs in proportion, and the end symbol; one
// more source is empty. Scans that choose pass the share S of the memory
// (whole_decoder_model.h).
#ifndef ATTNBENCH_HARNESS_MEASURE_WHOLE_DECODER_INPUTS_H_
#define ATTNBENCH_HARNESS_MEASURE_WHOLE_DECODER_INPUTS_H_

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "harness/base/arrays.h"
#include "harness/inputs/captured.h"
#include "harness/measure/whole_decoder_model.h"
#include "harness/sweep/values.h"

namespace attnbench {

// The lengths of the sources of a point: number n of N is drawn from the n-th
// N-th of 0..T, and its mirror image, T less that, is number N - 1 - n, so that
// few have the mean that many have; one alone, or in the middle, has T/2.
std::vector<Index> SourceLengths(std::uint64_t seed, Index longest,
                                 Index num_sources);

// Source number n of the point, of that many symbols, none of them special.
std::vector<Symbol> DrawSource(std::uint64_t seed, Index n, Index length,
                               Index vocabulary);

// What a source is copied to: so many of its symbols, evenly spread or
// repeated, and the end symbol.
std::vector<Symbol> CopyOf(std::span<const Symbol> source, Index num_outputs);

// The task of a source: a step for each symbol of its `copy`, which is
// favoured, as by a model that has learnt to copy (TranslationTask::favoured),
// by enough for nearly all probability. Both outlive the task.
TranslationTask CopyTask(std::span<const Symbol> source,
                         std::span<const Symbol> copy, Index vocabulary);

class DecoderInputs {
 public:
  // `axes` are those of a point in scope decoder.
  DecoderInputs(const AxisMap& axes, std::uint64_t seed,
                ArrayGaps* gaps = nullptr);
  DecoderInputs(const DecoderInputs&) = delete;
  DecoderInputs& operator=(const DecoderInputs&) = delete;

  const DecoderModel& timed() const { return timed_; }
  // What is timed of a policy: the same weights but for those of energies.
  const DecoderModel& aligned() const { return aligned_; }
  // For the gate as well: hypotheses stand on different entries.
  const DecoderModel& random_scans() const { return random_scans_; }
  std::span<const TranslationTask> tasks() const { return tasks_; }
  Index beam() const { return beam_; }

 private:
  DecoderInputs(const AxisMap& axes, std::uint64_t seed,
                const ModelSizes& sizes, ArrayGaps* gaps);

  void AddTask(std::uint64_t seed, Index length, Index outputs);
  void AddCaptured(const std::string& path, std::uint64_t seed);

  const DecoderModel timed_;
  const DecoderModel aligned_;  // draws nothing that nobody asks for
  const DecoderModel random_scans_;
  const Index beam_;
  std::vector<std::vector<Symbol>> sources_, copies_;
  std::vector<TranslationTask> tasks_;
  // Tables of each task in either precision, and the views that it points to.
  CapturedEnergies energies_;
  std::deque<Table<double>> doubles_;
  std::deque<CapturedScores> captured_;
};

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_MEASURE_WHOLE_DECODER_INPUTS_H_
