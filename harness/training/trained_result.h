// The result document of `attnbench train`
// (results/schema/trained.schema.json).
//
// Errors are token error rates of greedy decoding that reads its own outputs:
// the edit distance to the target over the target's length, both without the
// end symbol, summed over the held-out set; 0 is perfect, 1 and more possible.
#ifndef ATTNBENCH_HARNESS_TRAINING_TRAINED_RESULT_H_
#define ATTNBENCH_HARNESS_TRAINING_TRAINED_RESULT_H_

#include <optional>
#include <string>
#include <vector>

#include "harness/machine/context.h"
#include "harness/training/experiment.h"

namespace attnbench {

struct Evaluation {
  double soft_error = 0;  // by the expectation
  std::optional<double> hard_error =
      {};  // by the threshold, where there is a choice
  // Over the outputs of the held-out set, given the target's symbols:
  double loss = 0;  // nats a symbol
  // The mean of sum over j of alpha(i, j).
  std::optional<double> selected_mass = {};
  // The share of p outside 0.05..0.95, each p(i, j) weighted by the probability
  // that output i looks at entry j.
  std::optional<double> discrete_share = {};

  static void Fields(auto& self, auto& visit) {
    visit("soft_error", self.soft_error,
          Rule{.description = "token error rate of decoding by the expectation",
               .minimum = 0});
    visit("hard_error", self.hard_error,
          Rule{.description = "token error rate of decoding by the "
                              "threshold; null: nothing is chosen",
               .minimum = 0});
    visit("loss", self.loss,
          Rule{.description = "nats a symbol, given the symbols before"});
    visit("selected_mass", self.selected_mass,
          Rule{.description = "probability that an output chooses an entry"});
    visit("discrete_share", self.discrete_share,
          Rule{.description = "share of p outside 0.05 to 0.95, weighted by "
                              "the probability that p is asked for"});
  }
};

// Of the held-out utterances of one speaker of own data (folder.h).
struct SpeakerErrors {
  std::string speaker = {};
  std::optional<bool> in_training = {};
  // As in Evaluation and FinalEvaluation.
  double soft_error = 0;
  std::optional<double> hard_error = {};
  std::optional<double> alignment_error = {}, lateness = {},
                        median_lateness = {}, waiting_share = {};

  static void Fields(auto& self, auto& visit) {
    visit("speaker", self.speaker, Rule{.not_empty = true});
    visit("in_training", self.in_training,
          Rule{.description = "whether training has utterances of this speaker",
               .absent_if_unset = true});
    visit("soft_error", self.soft_error, Rule{.minimum = 0});
    visit("hard_error", self.hard_error, Rule{.minimum = 0});
    visit("alignment_error", self.alignment_error,
          Rule{.minimum = 0, .absent_if_unset = true});
    visit("lateness", self.lateness, Rule{.absent_if_unset = true});
    visit("median_lateness", self.median_lateness,
          Rule{.absent_if_unset = true});
    visit("waiting_share", self.waiting_share,
          Rule{.minimum = 0, .maximum = 1, .absent_if_unset = true});
  }
};

// After the last step.
struct FinalEvaluation : Evaluation {
  // [kHistogramBins]: how often p is in each bin of an equal part of [0, 1],
  // weighted as in discrete_share; the sum is 1. Of mechanisms that choose.
  std::optional<std::vector<double>> p_histogram = {};
  // How wide the K contexts of memory lie over the source, beside uniform ones.
  // With alpha_tk of Britz eq 5, and a position encoding, if there is one,
  //
  //   s_k = sum over t of alpha_tk
  //   sigma_k = standard deviation of t under alpha_tk / s_k
  //   spread = sum over k of s_k sigma_k
  //            / (sum over k of s_k sqrt((T^2 - 1) / 12)),
  //
  // the mean over held-out sequences with T > 1: 1 for contexts that hold the
  // same of every entry, 0 for contexts of one entry each.
  std::optional<double> context_spread = {};
  // Where own data (folder.h) have the end e of a symbol, in entries of the
  // source, and its output, given the target, chooses the n-th entry by the
  // threshold, or the last if there is none: the means of |n - e| and n - e
  // over symbols.
  // Of mechanisms that choose nothing n - e is of n = T, for which they wait.
  // median_lateness is the median of n - e; waiting_share that of outputs of
  // mechanisms that choose which choose none.
  std::optional<double> alignment_error = {}, lateness = {},
                        median_lateness = {}, waiting_share = {};
  // [21]: the share of symbols with n - e, rounded, of -10 and below, -9, and
  // so on to 10 and above.
  std::optional<std::vector<double>> lateness_histogram = {};
  std::optional<std::vector<SpeakerErrors>> speakers = {};
  // What python/attnbench/train/decodings.py says of other ways to decode.
  std::optional<double> beam_error = {};
  std::optional<std::vector<double>> wrong_by_position = {};
  std::optional<double> sampled_error = {}, choice_entropy = {},
                        output_variation = {}, average_proportion = {},
                        average_lagging = {},
                        differentiable_average_lagging = {};

  static void Fields(auto& self, auto& visit) {
    Evaluation::Fields(self, visit);
    visit("p_histogram", self.p_histogram,
          Rule{.description = "shares of p in 20 equal bins from 0 to 1, "
                              "weighted by the probability that p is asked for",
               .absent_if_unset = true});
    visit("context_spread", self.context_spread,
          Rule{.description = "standard deviation of a context's positions in "
                              "the source over that of a uniform one; memory",
               .absent_if_unset = true});
    visit("alignment_error", self.alignment_error,
          Rule{.description = "mean distance of the entry chosen by the "
                              "threshold from the end of its symbol, in "
                              "entries; own data with ends",
               .minimum = 0,
               .absent_if_unset = true});
    visit("lateness", self.lateness,
          Rule{.description = "the same with its sign: above 0 it is late; "
                              "what chooses nothing waits for the last entry",
               .absent_if_unset = true});
    visit("median_lateness", self.median_lateness,
          Rule{.description = "the median of the same over symbols",
               .absent_if_unset = true});
    visit("waiting_share", self.waiting_share,
          Rule{.description = "share of these symbols whose outputs choose no "
                              "entry, which count as waiting for the last",
               .minimum = 0,
               .maximum = 1,
               .absent_if_unset = true});
    visit("lateness_histogram", self.lateness_histogram,
          Rule{.description = "shares of symbols whose entry is chosen 10 "
                              "entries before their end or earlier, 9 before "
                              "it, and so on to 10 after it or later",
               .absent_if_unset = true});
    visit("speakers", self.speakers,
          Rule{.description = "the same of the utterances of each speaker; own "
                              "data that name them",
               .absent_if_unset = true});
    visit("beam_error", self.beam_error,
          Rule{.description = "as hard_error, or soft_error where nothing is "
                              "chosen, by a beam of 4",
               .minimum = 0,
               .absent_if_unset = true});
    visit("wrong_by_position", self.wrong_by_position,
          Rule{.description = "share of wrong outputs among the first, the "
                              "second and so on, decoded as beam_error, given "
                              "the symbols before",
               .minimum = 0,
               .absent_if_unset = true});
    visit("sampled_error", self.sampled_error,
          Rule{.description = "as hard_error, of entries chosen with their "
                              "probability p",
               .minimum = 0,
               .absent_if_unset = true});
    visit("choice_entropy", self.choice_entropy,
          Rule{.description = "of an output's choice by the expectation, in "
                              "nats",
               .minimum = 0,
               .absent_if_unset = true});
    visit("output_variation", self.output_variation,
          Rule{.description = "total variation between the distributions of an "
                              "output by the expectation and by the threshold",
               .minimum = 0,
               .maximum = 1,
               .absent_if_unset = true});
    visit("average_proportion", self.average_proportion,
          Rule{.description = "AP of choices by the threshold, given the "
                              "target",
               .minimum = 0,
               .absent_if_unset = true});
    visit("average_lagging", self.average_lagging,
          Rule{.description = "AL of the same, in entries",
               .absent_if_unset = true});
    visit("differentiable_average_lagging", self.differentiable_average_lagging,
          Rule{.description = "DAL of the same, in entries",
               .absent_if_unset = true});
  }
};
inline constexpr Index kHistogramBins = 20;

// What one held-out sequence attends to, given the target's symbols: the one
// with the longest target of the first few, the first such; of a speaker that
// training has not heard, if there are some. Weights are rounded to 0.001.
struct AttentionExample {
  std::vector<std::vector<double>> attention = {};  // [U, T], the expectation
  // [U], the entry chosen by the threshold, or T if there is none;
  // empty: nothing is chosen.
  std::vector<Index> choices = {};
  // [K, T], alpha_tk of Britz eq 5; empty: not of memory.
  std::vector<std::vector<double>> contexts = {};
  std::optional<std::string> speaker = {};  // of own data that name them
  // Of own data: the symbols of the target, and where they end in the source,
  // in entries.
  std::optional<std::vector<std::string>> symbols = {};
  std::optional<std::vector<double>> ends = {};
  // [T, frame size], rounded to 0.1, where these are no more than 16384
  // numbers.
  std::optional<std::vector<std::vector<double>>> frames = {};

  static void Fields(auto& self, auto& visit) {
    visit("attention", self.attention,
          Rule{.description = "a list for each output, of expected weights of "
                              "the entries, rounded to 0.001",
               .minimum = 0});
    visit("choices", self.choices,
          Rule{.description = "by the threshold, for each output; the "
                              "number of entries: none; empty: nothing is "
                              "chosen",
               .minimum = 0});
    visit("contexts", self.contexts,
          Rule{.description = "a list for each of the K contexts of memory, of "
                              "what it takes of the entries, rounded to 0.001",
               .minimum = 0});
    visit("speaker", self.speaker,
          Rule{.description = "of the sequence; own data that name them",
               .absent_if_unset = true});
    visit("symbols", self.symbols,
          Rule{.description = "of the target, without its end; own data",
               .absent_if_unset = true});
    visit("ends", self.ends,
          Rule{.description = "where each of them ends in the source, in "
                              "entries; own data with ends",
               .minimum = 0,
               .absent_if_unset = true});
    visit("frames", self.frames,
          Rule{.description = "of the source, rounded to 0.1; own data whose "
                              "source has no more than 16384 numbers",
               .absent_if_unset = true});
  }
};

struct CurvePoint : Evaluation {
  Index step = 0;
  double training_loss = 0;  // mean since the last point

  static void Fields(auto& self, auto& visit) {
    visit("step", self.step, kAtLeastOne);
    visit("training_loss", self.training_loss);
    Evaluation::Fields(self, visit);
  }
};

struct TrainedRun : TrainingRun {
  std::string status = "ok";
  std::optional<std::string> message = {};
  double seconds = 0;
  // Of the steps since the run was last resumed. Only results of the trainer in
  // C++, which is gone, have attention_share.
  std::optional<double> step_ms = {}, step_cpu_ms = {}, attention_share = {};
  std::optional<FinalEvaluation> result = {};
  std::vector<CurvePoint> curve = {};
  std::optional<AttentionExample> example = {};

  static void Fields(auto& self, auto& visit) {
    TrainingRun::Fields(self, visit);
    visit("status", self.status,
          Rule{.description = "diverged: the loss was no finite number",
               .one_of = {"ok", "diverged"}});
    visit("message", self.message);
    visit("seconds", self.seconds, kAtLeastZero);
    visit("step_ms", self.step_ms,
          Rule{.description = "mean milliseconds of a training step, without "
                              "evaluations, of those since the run was last "
                              "resumed",
               .minimum = 0,
               .absent_if_unset = true});
    visit("step_cpu_ms", self.step_cpu_ms,
          Rule{.description = "the same by the CPU time of the process, which "
                              "other programs lengthen less",
               .minimum = 0,
               .absent_if_unset = true});
    visit("attention_share", self.attention_share,
          Rule{.description = "share of that time in energies, attention and "
                              "contexts, forward and backward",
               .minimum = 0,
               .maximum = 1,
               .absent_if_unset = true});
    visit("result", self.result,
          Rule{.description = "after the last step; null: diverged"});
    visit("curve", self.curve);
    visit(
        "example", self.example,
        Rule{.description = "attention of one held-out sequence; of runs with "
                            "the experiment's first seed",
             .absent_if_unset = true});
  }
};

struct TrainedResult {
  static constexpr char kTitle[] =
      "Result of attnbench train: how well trained models decode";

  int schema_version = 1;
  std::string kind = "trained";
  Context context;
  std::string experiment;
  bool quick = false;
  bool complete = false;
  std::vector<TrainedRun> runs;

  static void Fields(auto& self, auto& visit) {
    visit("schema_version", self.schema_version,
          Rule{.minimum = 1, .maximum = 1});
    visit("kind", self.kind, Rule{.one_of = {"trained"}});
    visit("context", self.context);
    visit("experiment", self.experiment, kNotEmpty);
    visit("quick", self.quick);
    visit("complete", self.complete,
          Rule{.description = "whether all runs that were asked for are there; "
                              "--resume makes the others"});
    visit("runs", self.runs);
  }
};

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_TRAINING_TRAINED_RESULT_H_
