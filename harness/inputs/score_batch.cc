#include "harness/inputs/score_batch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <utility>

#include "harness/base/error.h"

namespace attnbench {
namespace {

constexpr std::size_t kAxesWithHeads = 4;

// Why numbers of this kind cannot have this value; empty: they can.
std::string Objection(ScoreKind kind, double value) {
  switch (kind) {
    case ScoreKind::kProbabilities:
      return 0 <= value && value <= 1 ? "" : "not a probability in [0, 1]";
    case ScoreKind::kEnergies:
      return std::isfinite(static_cast<float>(value)) ? ""
                                                      : "not finite in f32";
    case ScoreKind::kWeights:
      return std::isfinite(value) && value >= 0
                 ? ""
                 : "must be finite and not negative";
  }
  return "";
}

}  // namespace

ScoreBatch::ScoreBatch(NumberArray given) : array(std::move(given)) {
  const std::size_t axes = array.shape.size();
  if (axes < 2 || axes > kAxesWithHeads) {
    throw UserError(
        array.place,
        fmt::format("has the shape {}; [U, T], [B, U, T] or [B, H, U, T] is "
                    "needed",
                    array.shape));
  }
  U = array.shape[axes - 2];
  T = array.shape[axes - 1];
  count = std::ssize(array.values) / (U * T);
  batch_size = axes == 2 ? 1 : array.shape[0];
  entries.assign(Size(count), T);
  outputs.assign(Size(count), U);
}

ScoreBatch BatchLike(const ScoreBatch& other, NumberArray given) {
  ScoreBatch batch(std::move(given));
  if (batch.array.shape != other.array.shape) {
    throw UserError(
        batch.array.place,
        fmt::format("has the shape {}, but {} has {}", batch.array.shape,
                    other.array.place, other.array.shape));
  }
  batch.entries = other.entries;
  batch.outputs = other.outputs;
  return batch;
}

std::vector<Index> LengthsOf(const NumberArray& given, const ScoreBatch& batch,
                             Index most) {
  if (given.shape != std::vector<Index>{batch.batch_size}) {
    throw UserError(given.place,
                    fmt::format("has the shape {}; lengths of [{}] are needed, "
                                "one for each member of the batch",
                                given.shape, batch.batch_size));
  }
  std::vector<Index> lengths;
  const Index heads = batch.count / batch.batch_size;
  for (std::size_t b = 0; b < given.values.size(); ++b) {
    const double length = given.values[b];
    if (!(length >= 1 && length <= static_cast<double>(most)) ||
        length != std::floor(length)) {
      throw UserError(given.place + PlaceInArray(given.shape, b),
                      fmt::format("is {}, must be a whole number from 1 to {}",
                                  length, most));
    }
    lengths.insert(lengths.end(), Size(heads), static_cast<Index>(length));
  }
  return lengths;
}

std::vector<Index> LengthsOfMask(const NumberArray& mask,
                                 const ScoreBatch& batch) {
  const bool is_of_one =
      batch.array.shape.size() == 2 && mask.shape == std::vector{batch.T};
  if (!is_of_one && mask.shape != std::vector{batch.batch_size, batch.T}) {
    throw UserError(
        mask.place,
        fmt::format("has the shape {}; a mask [B, T] of [{}, {}] is needed, "
                    "True where an entry is padding",
                    mask.shape, batch.batch_size, batch.T));
  }
  std::vector<Index> lengths;
  const Index heads = batch.count / batch.batch_size;
  for (Index b = 0; b < batch.batch_size; ++b) {
    Index length = 0;
    for (Index j = 0; j < batch.T; ++j) {
      const std::size_t at = Size(b * batch.T + j);
      const double value = mask.values[at];
      const auto fail = [&](const std::string& what) {
        throw UserError(mask.place + PlaceInArray(mask.shape, at), what);
      };
      if (value != 0 && value != 1) {
        fail(fmt::format("is {}, must be True (padding) or False", value));
      }
      if (value == 1 && j == 0) {
        fail(
            "is True, so that the sequence begins with padding, which must be "
            "behind its entries; in a mask of entries invert it (~mask)");
      }
      if (value == 0 && length < j) {
        fail("is False behind padding, which must be behind all entries");
      }
      if (value == 0) ++length;
    }
    lengths.insert(lengths.end(), Size(heads), length);
  }
  return lengths;
}

template <class Real>
Table<Real> CutTable(const ScoreBatch& batch, Index n, ScoreKind kind) {
  Table<Real> table(batch.outputs[Size(n)], batch.entries[Size(n)]);
  for (Index i = 0; i < table.rows; ++i) {
    for (Index j = 0; j < table.cols; ++j) {
      const std::size_t at = Size((n * batch.U + i) * batch.T + j);
      const double value = batch.array.values[at];
      const std::string objection = Objection(kind, value);
      if (!objection.empty()) {
        throw UserError(
            batch.array.place + PlaceInArray(batch.array.shape, at),
            fmt::format("is {}, {} (lengths or mask leaves padding out)", value,
                        objection));
      }
      table.view()(i, j) = static_cast<Real>(value);
    }
  }
  return table;
}

template Table<float> CutTable(const ScoreBatch&, Index, ScoreKind);
template Table<double> CutTable(const ScoreBatch&, Index, ScoreKind);

}  // namespace attnbench
