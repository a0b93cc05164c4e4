#include "mechanisms/torch/arguments.h"

#include <ATen/EmptyTensor.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <mutex>
#include <sstream>
#include <string>

#include "mechanisms/common/blas_threads.h"
#include "mechanisms/kernels/kernels.h"
#include "mechanisms/kernels/self_test.h"
#include "mechanisms/torch/pool.h"

extern "C" int openblas_get_num_threads();

namespace attnbench::torch_operators {
namespace {

// A type's name in Python.
const char* Name(at::ScalarType type) {
  switch (type) {
    case at::kFloat:
      return "float32";
    case at::kDouble:
      return "float64";
    case at::kHalf:
      return "float16";
    case at::kBFloat16:
      return "bfloat16";
    case at::kInt:
      return "int32";
    case at::kLong:
      return "int64";
    default:
      return at::toString(type);
  }
}

// Whether the storage has all that the tensor's shape and strides reach. One
// without a storage, or one that was resized since, does not.
bool HasNumbers(const at::Tensor& tensor) {
  return tensor.is_meta() || tensor.numel() == 0 ||
         (tensor.has_storage() && tensor.storage().data() != nullptr &&
          tensor.storage().nbytes() >=
              at::detail::computeStorageNbytes(tensor.sizes(), tensor.strides(),
                                               tensor.itemsize(),
                                               Size(tensor.storage_offset())));
}

// Checks what does not depend on the shape.
void CheckKind(const at::Tensor& tensor, const char* argument) {
  CheckBestKernels();  // every operator has a tensor that comes here
  TORCH_CHECK_VALUE(tensor.defined(), argument, " is missing");
  TORCH_CHECK_TYPE(tensor.device().is_cpu() || tensor.is_meta(), argument,
                   " must be on the CPU, but is on ", tensor.device(), ": use ",
                   argument, ".cpu()");
  TORCH_CHECK_TYPE(tensor.layout() == at::kStrided, argument,
                   " must be dense, but its layout is ", tensor.layout());
  TORCH_CHECK_TYPE(HasNumbers(tensor), argument, " has no numbers");
  TORCH_CHECK_TYPE(tensor.scalar_type() == at::kFloat ||
                       tensor.scalar_type() == at::kDouble ||
                       tensor.scalar_type() == at::kHalf ||
                       tensor.scalar_type() == at::kBFloat16,
                   argument,
                   " must be float32, float64, float16 or bfloat16, but is ",
                   Name(tensor.scalar_type()));
}

void CheckDimensions(const at::Tensor& tensor, const char* argument,
                     const char* shape, std::int64_t dimensions) {
  TORCH_CHECK_VALUE(tensor.dim() == dimensions, argument, " must be ", shape,
                    ", but has ", tensor.dim(),
                    tensor.dim() == 1 ? " dimension" : " dimensions");
}

at::Tensor ContiguousCopy(const at::Tensor& tensor, at::ScalarType type) {
  return MakeResult(tensor.sizes(), tensor.options().dtype(type)).copy_(tensor);
}

// Gives f32 for Half and BFloat16, else the tensor.
at::Tensor Computable(const at::Tensor& tensor) {
  const bool is_short = tensor.scalar_type() == at::kHalf ||
                        tensor.scalar_type() == at::kBFloat16;
  return is_short ? ContiguousCopy(tensor, at::kFloat) : tensor;
}

at::Tensor Contiguous(const at::Tensor& tensor) {
  return tensor.is_contiguous() ? tensor
                                : ContiguousCopy(tensor, tensor.scalar_type());
}

// A program may call operators from several threads of its own.
std::mutex blas_mutex;
int blas_users = 0;
int blas_threads = 1;  // that BLAS had before the first of them

const char* Name(Numbers allowed) {
  switch (allowed) {
    case Numbers::kProbabilities:
      return "in [0, 1]";
    case Numbers::kNotNegative:
      return "finite and not negative";
    case Numbers::kFinite:
      return "finite";
    case Numbers::kAny:
      return "numbers";
  }
  return "numbers";
}

// The fewest digits that read back as the same number.
template <class Real>
std::string Digits(Real number) {
  std::array<char, 32> text;
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(), number).ptr;
  return {text.data(), end};
}

template <class Real>
struct Range {
  Real least;
  Real greatest;
  // This is false of NaN.
  bool Has(Real low, Real high) const {
    return low >= least && high <= greatest;
  }
};

template <class Real>
Range<Real> RangeOf(Numbers allowed) {
  using Limits = std::numeric_limits<Real>;
  switch (allowed) {
    case Numbers::kProbabilities:
      return {0, 1};
    case Numbers::kNotNegative:
      return {0, Limits::max()};
    case Numbers::kFinite:
      return {Limits::lowest(), Limits::max()};
    case Numbers::kAny:
      return {-Limits::infinity(), Limits::infinity()};
  }
  return {0, 0};
}

template <class Real>
bool HasAll(const Range<Real>& range, std::span<const Real> numbers) {
  if (numbers.empty()) return true;
  Real low, high;
  BestKernels<Real>().range(numbers.data(), std::ssize(numbers), &low, &high);
  return range.Has(low, high);
}

}  // namespace

at::Tensor ValidArray(const at::Tensor& tensor, const char* argument,
                      const char* shape, std::int64_t dimensions) {
  CheckKind(tensor, argument);
  CheckDimensions(tensor, argument, shape, dimensions);
  return Contiguous(Computable(tensor));
}

at::Tensor InTypeOf(const at::Tensor& argument, const at::Tensor& result) {
  const at::ScalarType type = argument.scalar_type();
  return !result.defined() || result.scalar_type() == type
             ? result
             : ContiguousCopy(result, type);
}

at::Tensor ValidTable(const at::Tensor& tensor, const char* argument,
                      const char* shape) {
  CheckKind(tensor, argument);
  CheckDimensions(tensor, argument, shape, 4);
  const at::Tensor table = Computable(tensor);
  const bool has_rows =
      (table.size(3) <= 1 || table.stride(3) == 1) &&
      (table.size(2) <= 1 || table.stride(2) >= table.size(3));
  return has_rows ? table : Contiguous(table);
}

void CheckFits(const at::Tensor& tensor, const char* argument,
               at::IntArrayRef sizes, const at::Tensor& first,
               const char* first_argument) {
  for (std::size_t n = 0; n < sizes.size(); ++n) {
    TORCH_CHECK_VALUE(
        sizes[n] < 0 || tensor.size(static_cast<std::int64_t>(n)) == sizes[n],
        argument, " of shape ", tensor.sizes(), " does not fit ",
        first_argument, " of shape ", first.sizes(), ": dimension ", n,
        " must be ", sizes[n]);
  }
  TORCH_CHECK_TYPE(tensor.scalar_type() == first.scalar_type(), argument,
                   " must have the type of ", first_argument, ", ",
                   Name(first.scalar_type()), ", but is ",
                   Name(tensor.scalar_type()));
  TORCH_CHECK_TYPE(tensor.device() == first.device(), argument,
                   " must be where ", first_argument, " is, on ",
                   first.device(), ", but is on ", tensor.device());
}

at::Tensor ValidCotangent(const OptionalTensor& given, const char* argument,
                          at::IntArrayRef sizes, const at::Tensor& first,
                          const char* first_argument) {
  if (!given.has_value() || !given->defined()) return {};
  at::Tensor taken =
      ValidArray(*given, argument, "[B, H, U, n]", std::ssize(sizes));
  CheckFits(*given, argument, sizes, first, first_argument);
  return taken;
}

SequenceLengths::SequenceLengths(const OptionalTensor& lengths,
                                 const at::Tensor& first, std::int64_t most)
    : heads_(first.size(1)), most_(most) {
  if (!lengths.has_value() || !lengths->defined()) return;
  all_ = false;
  TORCH_CHECK_TYPE(
      lengths->device().is_cpu() || (lengths->is_meta() && first.is_meta()),
      "lengths must be on the CPU, but is on ", lengths->device(),
      ": use lengths.cpu()");
  const std::int64_t batch = first.size(0);
  TORCH_CHECK_TYPE(
      lengths->layout() == at::kStrided && lengths->scalar_type() == at::kLong,
      "lengths must be int64, but is ", Name(lengths->scalar_type()));
  TORCH_CHECK_VALUE(lengths->dim() == 1 && lengths->size(0) == batch,
                    "lengths must be [B] with B = ", batch,
                    ", but has the shape ", lengths->sizes());
  TORCH_CHECK_TYPE(HasNumbers(*lengths), "lengths has no numbers");
  if (lengths->is_meta()) return;
  const at::Tensor taken = lengths->contiguous();
  const auto* const first_length = taken.data_ptr<std::int64_t>();
  of_batch_.assign(first_length, first_length + batch);
  for (std::int64_t b = 0; b < batch; ++b) {
    const Index length = of_batch_[Size(b)];
    TORCH_CHECK_VALUE(length >= 0 && length <= most,
                      "lengths must be in [0, T] with T = ", most,
                      ", but lengths[", b, "] is ", length);
  }
}

Index SequenceLengths::longest() const {
  if (all_) return most_;
  return of_batch_.empty() ? 0 : std::ranges::max(of_batch_);
}

template <class Real>
bool WrongNumbers::AllowsRow(Index n, const char* argument, Numbers allowed,
                             std::span<const Real> row) {
  const Range<Real> range = RangeOf<Real>(allowed);
  if (HasAll(range, row)) return true;
  const auto wrong =
      std::ranges::find_if(row, [&](Real x) { return !range.Has(x, x); });
  found_[Size(n)] = {.argument = argument,
                     .allowed = allowed,
                     .column = wrong - row.begin(),
                     .number = Digits(*wrong)};
  return false;
}

template <class Real>
bool WrongNumbers::Allows(Index n, const char* argument, Numbers allowed,
                          const MatrixView<const Real>& table) {
  // Short rows take most of their time one by one.
  if (table.row_stride == table.cols &&
      HasAll<Real>(RangeOf<Real>(allowed),
                   {table.data, Size(table.rows * table.cols)})) {
    return true;
  }
  for (Index i = 0; i < table.rows; ++i) {
    if (AllowsRow(n, argument, allowed, table.Row(i))) continue;
    found_[Size(n)].row = i;
    return false;
  }
  return true;
}

#define ATTNBENCH_INSTANTIATE(Real)                                  \
  template bool WrongNumbers::AllowsRow(Index, const char*, Numbers, \
                                        std::span<const Real>);      \
  template bool WrongNumbers::Allows(Index, const char*, Numbers,    \
                                     const MatrixView<const Real>&);
ATTNBENCH_INSTANTIATE(float)
ATTNBENCH_INSTANTIATE(double)
#undef ATTNBENCH_INSTANTIATE

void WrongNumbers::Throw(Index heads) const {
  for (std::size_t n = 0; n < found_.size(); ++n) {
    const Wrong& wrong = found_[n];
    if (wrong.argument == nullptr) continue;
    const auto number = static_cast<Index>(n);
    std::ostringstream place;
    place << wrong.argument << '[' << number / heads << ", " << number % heads;
    if (wrong.row >= 0) place << ", " << wrong.row;
    place << ", " << wrong.column << ']';
    TORCH_CHECK_VALUE(false, wrong.argument, " must be ", Name(wrong.allowed),
                      ", but ", place.str(), " is ", wrong.number);
  }
}

OneBlasThread::OneBlasThread() {
  const std::lock_guard lock(blas_mutex);
  if (blas_users++ > 0) return;
  blas_threads = openblas_get_num_threads();
  UseOneBlasThread();
}

OneBlasThread::~OneBlasThread() {
  const std::lock_guard lock(blas_mutex);
  if (--blas_users == 0) openblas_set_num_threads(blas_threads);
}

}  // namespace attnbench::torch_operators
