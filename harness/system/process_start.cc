#include "harness/system/process_start.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <iostream>

#include "harness/base/error.h"

namespace attnbench {
namespace {

// OpenBLAS starts a thread for every core when it is loaded. Each thread asks
// for a buffer of this size until it gets one, and so does the first matrix
// product.
constexpr std::size_t kBlasBufferBytes = std::size_t{128} << 20;

bool IsAddressSpaceLimited() {
  rlimit limit{};
  return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

}  // namespace

void OpenStandardFiles() {
  int descriptor = open("/dev/null", O_RDWR);
  while (descriptor >= 0 && descriptor <= STDERR_FILENO) {
    descriptor = open("/dev/null", O_RDWR);
  }
  close(descriptor);
}

void KeepFreedMemory() {
#ifdef __GLIBC__
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, -1);
#endif
}

void CheckSystemLimits() {
  struct Need {
    __rlimit_resource limit;
    const char* name;
    rlim_t unit;
    rlim_t least;
  };
  constexpr Need kNeeds[] = {
      {RLIMIT_NOFILE, "ulimit -n (open files)", 1, 32},
      {RLIMIT_STACK, "ulimit -s (KiB of stack)", 1024, 1024}};
  for (const Need& need : kNeeds) {
    rlimit limit{};
    if (getrlimit(need.limit, &limit) != 0) continue;
    if (limit.rlim_cur >= need.unit * need.least) continue;
    throw UserError(need.name,
                    fmt::format("is {}; at least {} is needed",
                                limit.rlim_cur / need.unit, need.least));
  }
}

void CheckAddressSpace() {
  void* const buffer = mmap(nullptr, kBlasBufferBytes, PROT_NONE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (buffer == MAP_FAILED) {
    throw UserError("memory",
                    "the address space is too small; raise ulimit -v");
  }
  munmap(buffer, kBlasBufferBytes);
}

void EndProcess(int code) {
  if (IsAddressSpaceLimited()) {
    std::cout.flush();
    std::fflush(nullptr);
    _exit(code);
  }
  std::exit(code);
}

}  // namespace attnbench
