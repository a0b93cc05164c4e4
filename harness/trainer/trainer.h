// The room `trainer` trains small models with libtorch: a fused LSTM, the
// attention of mechanisms/torch, Adam. It is a program of its own,
// attnbench-train, because libtorch loads hundreds of libraries; the room
// `training` has what it shares with the others.
//
// This is one run. Everything that it draws (parameters, examples, noise) is a
// function of seed and step, so that a checkpoint needs no state of a
// generator: a run that goes on from one makes the same bits as a run that
// never stopped, on one thread.
#ifndef ATTNBENCH_HARNESS_TRAINER_TRAINER_H_
#define ATTNBENCH_HARNESS_TRAINER_TRAINER_H_

#include <functional>
#include <optional>
#include <stdexcept>
#include <string>

#include "harness/trainer/model.h"

namespace attnbench {

// Numbers are no longer finite; the text says what is not, and in which step.
class Diverged : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct StepReport {
  Index step = 0;   // from 1
  double loss = 0;  // nats a symbol
  // log of the mean of sum over j of alpha(i, j); of mechanisms that choose.
  std::optional<double> log_mass = {};
};

// Of the steps that one object made: examples, forward, backward and Adam,
// without evaluations.
struct StepTimes {
  Index steps = 0;
  double seconds = 0;
  // In energies, attention and contexts, forward and backward.
  double attention_seconds = 0;
};

class Trainer {
 public:
  explicit Trainer(const TrainingRun& run);
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  // Goes on from a checkpoint. Throws UserError naming `path` if it is of
  // another run or model.
  void Restore(const Checkpoint& checkpoint, const std::string& path);
  Checkpoint Save() const;

  const TrainingRun& run() const { return run_; }
  Index step() const { return step_; }
  bool IsDone() const { return step_ == run_.settings.steps; }
  // Makes the next step, and the point of the curve that falls on it. Throws
  // Diverged.
  StepReport Step();
  // Of the first `count` sequences of the held-out set. Throws Diverged.
  FinalEvaluation Evaluate(Index count) const;
  AttentionExample Example() const;

  const std::vector<CurvePoint>& curve() const { return curve_; }
  const StepTimes& times() const { return times_; }
  const Model& model() const { return model_; }

 private:
  StepReport MakeStep();
  StepReport TrainOnBatch();
  Batch HeldOut(Index first, Index count) const;
  FinalEvaluation MeasureHeldOut(Index count) const;
  at::Tensor Noise(Index outputs, Index entries) const;

  const TrainingRun run_;
  Parameters parameters_;
  const Model model_;
  Index step_ = 0;
  double loss_sum_ = 0;
  std::vector<CurvePoint> curve_;
  StepTimes times_;
};

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_TRAINER_TRAINER_H_
