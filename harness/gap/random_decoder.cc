#include "harness/gap/random_decoder.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "mechanisms/kernels/kernels.h"

namespace attnbench {
namespace {

// y += scale A x
void AddProduct(const MatrixView<const double>& A, double scale,
                std::span<const double> x, std::span<double> y) {
  std::vector<double> product(y.size());
  BestKernels<double>().dot_rows(x.data(), A.data, A.row_stride, A.rows, A.cols,
                                 product.data());
  for (std::size_t k = 0; k < y.size(); ++k) y[k] += scale * product[k];
}

// The array of that name with elements of variance 1.
Table<double> OfVarianceOne(const DrawnParameters<double>& parameters,
                            const char* name, Index rows, Index cols) {
  const MatrixView<const double> drawn = parameters.Matrix(name, rows, cols);
  Table<double> table(rows, cols);
  for (std::size_t n = 0; n < table.values.size(); ++n) {
    table.values[n] = std::sqrt(static_cast<double>(cols)) * drawn.data[n];
  }
  return table;
}

}  // namespace

RandomDecoder::RandomDecoder(const RandomDecoderSpec& spec)
    : spec_(spec),
      parameters_(spec.seed),
      memory_(OfVarianceOne(parameters_, "gap.h", spec.sizes.memory_length,
                            spec.sizes.dim)),
      inputs_(OfVarianceOne(parameters_, "gap.b", spec.sizes.output_length,
                            spec.sizes.dim)),
      of_state_(parameters_.Matrix("gap.W", spec.sizes.dim, spec.sizes.dim)),
      of_context_(parameters_.Matrix("gap.C", spec.sizes.dim, spec.sizes.dim)),
      query_(parameters_.Matrix("gap.Q", spec.sizes.dim, spec.sizes.dim)),
      output_of_state_(
          parameters_.Matrix("gap.O", spec.sizes.vocabulary, spec.sizes.dim)),
      output_of_context_(
          parameters_.Matrix("gap.P", spec.sizes.vocabulary, spec.sizes.dim)) {}

void RandomDecoder::FirstState(std::span<double> state) const {
  std::ranges::fill(state, 0.0);
}

void RandomDecoder::Advance(Index i, std::span<const double> context,
                            std::span<double> state) const {
  const std::vector<double> last(state.begin(), state.end());
  std::ranges::copy(inputs_.view().Row(i), state.begin());
  AddProduct(of_state_, spec_.recurrence, last, state);
  AddProduct(of_context_, spec_.feedback, context, state);
  for (double& value : state) value = std::tanh(value);
}

void RandomDecoder::Energies(std::span<const double> state,
                             std::span<double> energies) const {
  std::vector<double> query(state.size());
  AddProduct(query_,
             spec_.sharpness / std::sqrt(static_cast<double>(spec_.sizes.dim)),
             state, query);
  std::ranges::fill(energies, 0.0);
  AddProduct(memory_.view(), 1, query, energies);
}

void RandomDecoder::Probabilities(std::span<const double> state,
                                  std::span<const double> context,
                                  std::span<double> p) const {
  std::ranges::fill(p, 0.0);
  AddProduct(output_of_state_, kLogitScale, state, p);
  AddProduct(output_of_context_, kLogitScale, context, p);
  SoftmaxInPlace(p);
}

}  // namespace attnbench
