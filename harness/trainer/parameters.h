// The parameters of a model by name, and Adam. All values lie in one array, and
// so do their gradients: the norm of all gradients, a step of Adam and a
// checkpoint are a few lines each.
#ifndef ATTNBENCH_HARNESS_TRAINER_PARAMETERS_H_
#define ATTNBENCH_HARNESS_TRAINER_PARAMETERS_H_

#include <ATen/core/Tensor.h>

#include <map>
#include <string>
#include <vector>

#include "harness/training/parameter_specs.h"

namespace attnbench {

class Parameters {
 public:
  // Draws them: a function of name, shape and seed.
  Parameters(const std::vector<ParameterSpec>& specs, std::uint64_t seed);
  // They share their arrays with tensors of their own.
  Parameters(const Parameters&) = delete;
  Parameters& operator=(const Parameters&) = delete;

  // The parameter of that name, f32, whose gradient backward() adds to.
  const at::Tensor& operator[](const std::string& name) const;

  void ZeroGradients() { gradients_.zero_(); }
  // Scales the gradients so that their norm is no greater than that, and gives
  // the norm that they had.
  double ClipGradients(double greatest_norm);
  // Step `step`, from 1, of Adam (Kingma and Ba 2015, algorithm 1, with their
  // betas and epsilon):
  //
  //   m <- 0.9 m + 0.1 g        v <- 0.999 v + 0.001 g^2
  //   x <- x - rate (m / (1 - 0.9^step)) / (sqrt(v / (1 - 0.999^step)) + 1e-8)
  void AdamStep(double rate, Index step);

  std::map<std::string, CheckpointArray> Save() const;
  // The arrays are those of these parameters (CheckParameters).
  void Load(const std::map<std::string, CheckpointArray>& arrays);

 private:
  struct Named {
    std::string name;
    std::int64_t first;
    at::Tensor tensor;  // of values_, from `first` on
  };

  std::vector<Named> all_;
  at::Tensor values_, gradients_, means_, squares_;  // [all numbers]
};

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_TRAINER_PARAMETERS_H_
