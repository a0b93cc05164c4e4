// The rows of successive Appends as one view.
#ifndef ATTNBENCH_MECHANISMS_COMMON_JOINED_ROWS_H_
#define ATTNBENCH_MECHANISMS_COMMON_JOINED_ROWS_H_

#include "mechanisms/common/array.h"

namespace attnbench {

// Each Append must follow the last one in the same array (the contract of
// Decoder::Append), which is checked: nothing is copied.
template <class Real>
class JoinedRows {
 public:
  void Append(const MatrixView<const Real>& rows) {
    if (all_.data == nullptr) {
      all_ = rows;
      return;
    }
    ATTN_CHECK(rows.rows == 0 ||
               rows.data == all_.data + all_.rows * all_.row_stride);
    all_.rows += rows.rows;
  }
  const MatrixView<const Real>& all() const { return all_; }

 private:
  MatrixView<const Real> all_;
};

}  // namespace attnbench

#endif  // ATTNBENCH_MECHANISMS_COMMON_JOINED_ROWS_H_
