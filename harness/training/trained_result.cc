#include "harness/training/trained_result.h"

#include "harness/base/json_file.h"

namespace attnbench {

TrainedResult ReadTrainedResult(const std::string& path) {
  return FromJson<TrainedResult>(ReadJsonFile(path), path);
}

}  // namespace attnbench
