// Says in the bytes of the library what it was built from, so that
// python/attnbench/torch/library.py knows before PyTorch loads it: a library of
// another version of PyTorch may load, and end the process when it is called.
#include <torch/version.h>

extern "C" {
[[gnu::used,
  gnu::visibility("default")]] extern const char attnbench_torch_built_with[] =
    "libattnbench_torch of attnbench " ATTNBENCH_VERSION
    " for PyTorch " TORCH_VERSION;
}
