// A few arrays by name, in the order in which they were set.
#ifndef ATTNBENCH_MECHANISMS_COMMON_NAMED_VIEWS_H_
#define ATTNBENCH_MECHANISMS_COMMON_NAMED_VIEWS_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mechanisms/common/array.h"

namespace attnbench {

template <class T>
struct NamedView {
  std::string name;
  MatrixView<T> view;
};

// Find compares names: call it once for a sequence, not in a loop over entries
// or outputs.
template <class T>
class NamedViews {
 public:
  // A name that is there already gets the new view. A view without columns is
  // one of nothing, and is left out; an array of no rows has columns, and
  // stays.
  void Set(std::string name, const MatrixView<T>& view) {
    std::erase_if(all_, [&](const auto& one) { return one.name == name; });
    if (view.cols > 0) all_.push_back({std::move(name), view});
  }
  // The view of that name, without data where there is none.
  MatrixView<T> Find(std::string_view name) const {
    for (const NamedView<T>& one : all_) {
      if (one.name == name) return one.view;
    }
    return {};
  }
  bool empty() const { return all_.empty(); }
  auto begin() const { return all_.begin(); }
  auto end() const { return all_.end(); }

 private:
  std::vector<NamedView<T>> all_;
};

}  // namespace attnbench

#endif  // ATTNBENCH_MECHANISMS_COMMON_NAMED_VIEWS_H_
