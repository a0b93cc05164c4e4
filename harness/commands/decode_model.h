// attnbench decode --model: decodes held-out sequences with a trained model.
#ifndef ATTNBENCH_HARNESS_COMMANDS_DECODE_MODEL_H_
#define ATTNBENCH_HARNESS_COMMANDS_DECODE_MODEL_H_

#include <string>

#include "harness/base/json.h"
#include "harness/commands/trained_model.h"

namespace attnbench {

struct DecodedModelAnswer {
  Json document;     // all sequences, for -o
  std::string text;  // the first sequences and the error, for people
};

// Throws what TrainedModel throws.
DecodedModelAnswer DecodeModel(const ModelArguments& arguments,
                               const std::string& output);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_COMMANDS_DECODE_MODEL_H_
