// The parameters of a trained model, by the names that checkpoints have:
//
//   source_embedding [V, n], target_embedding [V, e]
//   forward, backward, decoder   .W [4 H, n + H] and .b [4 H] of an LSTM, as
//                                model/lstm.h has them
//   attention, chunk             .W [d, d], .V [d, d], .b [d], .v [d], .g of
//                                an energy (MAD eq 16)
//   attention.r
//   memory.encoder, memory.decoder   [K, d]
//   mix.W [d, 2 d], mix.b [d], output.W [V, d], output.b [V]
//
// A model has those that its settings ask for.
#ifndef ATTNBENCH_HARNESS_TRAINING_PARAMETER_SHAPES_H_
#define ATTNBENCH_HARNESS_TRAINING_PARAMETER_SHAPES_H_

#include <map>
#include <string>
#include <vector>

#include "harness/training/checkpoint.h"

namespace attnbench {

// r of model/lstm.h, in all LSTMs here.
inline constexpr double kTrainedForgetBias = 1;

// By name; a shape that is empty is of a single number.
using ParameterShapes = std::map<std::string, std::vector<Index>>;

ParameterShapes ParameterShapesOf(const TrainingSettings& settings);

// Throws UserError naming `path` and the parameter if the arrays are not those
// of `shapes`, in name and shape.
void CheckParameters(const ParameterShapes& shapes,
                     const std::map<std::string, CheckpointArray>& arrays,
                     const std::string& path);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_TRAINING_PARAMETER_SHAPES_H_
