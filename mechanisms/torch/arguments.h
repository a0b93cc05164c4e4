// What all operators share: checks of their arguments, views of one sequence of
// a tensor, and the loop over sequences.
#ifndef ATTNBENCH_MECHANISMS_TORCH_ARGUMENTS_H_
#define ATTNBENCH_MECHANISMS_TORCH_ARGUMENTS_H_

#include <ATen/core/Tensor.h>

#include <span>
#include <string>
#include <vector>

#include "mechanisms/mechanism.h"
#include "mechanisms/torch/operators.h"

namespace attnbench::torch_operators {

// Gives `tensor` if it is [B, H, rows, columns] of floating point on the CPU or
// on `meta`, else throws an error that names `argument` and says `shape`. Rows
// of the result are contiguous; it is a copy only if the tensor's are not.
at::Tensor ValidTable(const at::Tensor& tensor, const char* argument,
                      const char* shape);
// The same for a tensor of that many dimensions, and all of it contiguous.
at::Tensor ValidArray(const at::Tensor& tensor, const char* argument,
                      const char* shape, std::int64_t dimensions);
// Throws unless `tensor` has these sizes (-1: any) and the type and device of
// `first`.
void CheckFits(const at::Tensor& tensor, const char* argument,
               at::IntArrayRef sizes, const at::Tensor& first,
               const char* first_argument);
// Gives a gradient `given` with respect to a result of these sizes, contiguous;
// an undefined tensor if there is none.
at::Tensor ValidCotangent(const OptionalTensor& given, const char* argument,
                          at::IntArrayRef sizes, const at::Tensor& first,
                          const char* first_argument);

// Gives a result in the type of `argument`, if it is defined.
at::Tensor InTypeOf(const at::Tensor& argument, const at::Tensor& result);

// The number of entries of each sequence, n = b * heads + h. It owns them:
// whoever has the tensor may write to it while sequences are computed.
class SequenceLengths {
 public:
  SequenceLengths() = default;
  // Throws unless `lengths`, if given, are [batch], int64 and in [0, most].
  // A tensor on `meta` has no numbers: nobody may ask for its lengths.
  SequenceLengths(const OptionalTensor& lengths, const at::Tensor& first,
                  std::int64_t most);
  Index operator()(Index n) const {
    return all_ ? most_ : of_batch_[Size(n / heads_)];
  }
  // Of the batch, as far as it is known.
  Index longest() const;

 private:
  bool all_ = true;
  std::vector<Index> of_batch_;
  Index heads_ = 1;
  Index most_ = 0;
};

// Sequence n of a table by ValidTable, its first `rows` rows and `cols`
// columns.
template <class Real>
MatrixView<Real> SequenceOf(const at::Tensor& table, Index n, Index rows,
                            Index cols) {
  const Index heads = table.size(1);
  Real* const first = table.data_ptr<Real>() + n / heads * table.stride(0) +
                      n % heads * table.stride(1);
  // A tensor of one row may have any stride.
  return {first, rows, cols, table.size(2) > 1 ? table.stride(2) : cols};
}

// Writes zeros to what of `table`, which has the columns of the whole array,
// lies from column `length` on.
template <class Real>
void ZeroFrom(Index length, const MatrixView<Real>& table) {
  for (Index i = 0; length < table.cols && i < table.rows; ++i) {
    for (Real& x : table.Row(i).subspan(Size(length))) x = 0;
  }
}

// Which numbers an argument can have; NaN is none of them.
enum class Numbers {
  kProbabilities,  // in [0, 1]
  kNotNegative,    // finite, too
  kFinite,
  kAny,
};

// Remembers the first number of each sequence that is not allowed. Threads may
// check different sequences at the same time, and what is thrown at the end is
// the same for every number of threads.
class WrongNumbers {
 public:
  explicit WrongNumbers(Index sequences) : found_(Size(sequences)) {}
  // Whether all numbers of sequence n of a table are allowed.
  template <class Real>
  bool Allows(Index n, const char* argument, Numbers allowed,
              const MatrixView<const Real>& table);
  // The same of an array that has one row a sequence.
  template <class Real>
  bool AllowsRow(Index n, const char* argument, Numbers allowed,
                 std::span<const Real> row);
  // Throws for the first sequence with a wrong number, n = b * heads + h.
  void Throw(Index heads) const;

 private:
  struct Wrong {
    const char* argument = nullptr;  // null: none
    Numbers allowed = Numbers::kAny;
    Index row = -1;  // of a table
    Index column = 0;
    std::string number;
  };
  std::vector<Wrong> found_;
};

// While objects of this live matrix products run on the thread that asks for
// them, for sequences have threads already. When the last is gone BLAS has its
// threads again.
class OneBlasThread {
 public:
  OneBlasThread();
  ~OneBlasThread();
  OneBlasThread(const OneBlasThread&) = delete;
  OneBlasThread& operator=(const OneBlasThread&) = delete;
};

}  // namespace attnbench::torch_operators

#endif  // ATTNBENCH_MECHANISMS_TORCH_ARGUMENTS_H_
