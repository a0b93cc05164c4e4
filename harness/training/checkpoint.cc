#include "harness/training/checkpoint.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "harness/base/error.h"
#include "harness/base/json_file.h"

namespace attnbench {
namespace {

// Of the model that has the greatest of all sizes.
constexpr std::size_t kMostCheckpointMebibytes = 4096;

// Whether `count` is the product of the lengths, which may be any.
bool Fills(const std::vector<Index>& shape, Index count) {
  for (const Index length : shape) {
    if (count % length != 0) return false;
    count /= length;
  }
  return count == 1;
}

}  // namespace

Checkpoint ReadCheckpoint(const std::string& path) {
  const Place place(path), arrays(place, "parameters");
  const Json json = ReadJsonFile(path, kMostCheckpointMebibytes);
  // Of another document the first key that differs would tell less.
  if (!json.is_object() || json.value("kind", Json()) != Checkpoint().kind) {
    FailAt(Place(place, "kind"),
           "is not checkpoint; expected a file that train --keep-checkpoints "
           "left in OUTPUT.checkpoints/");
  }
  auto checkpoint = FromJson<Checkpoint>(json, path);
  for (const auto& [name, array] : checkpoint.parameters) {
    for (const auto* values : {&array.values, &array.means, &array.squares}) {
      if (!Fills(array.shape, std::ssize(*values))) {
        FailAt(Place(arrays, name),
               fmt::format("has {} numbers, not as many as its shape, {}, says",
                           values->size(), array.shape));
      }
      for (const double value : *values) {
        if (std::isfinite(static_cast<float>(value))) continue;
        FailAt(Place(arrays, name),
               fmt::format("has the number {}, which f32 has not", value));
      }
    }
  }
  return checkpoint;
}

}  // namespace attnbench
