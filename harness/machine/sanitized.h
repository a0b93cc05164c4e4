// Whether a sanitizer is in this program: everything takes many times as long.
#ifndef ATTNBENCH_HARNESS_MACHINE_SANITIZED_H_
#define ATTNBENCH_HARNESS_MACHINE_SANITIZED_H_

#if defined(__has_feature)
#define ATTNBENCH_CLANG_SANITIZES \
  (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define ATTNBENCH_CLANG_SANITIZES 0
#endif

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || \
    ATTNBENCH_CLANG_SANITIZES
#define ATTNBENCH_IS_SANITIZED 1
#else
#define ATTNBENCH_IS_SANITIZED 0
#endif

#undef ATTNBENCH_CLANG_SANITIZES

namespace attnbench {

inline constexpr bool kIsSanitized = ATTNBENCH_IS_SANITIZED == 1;

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_MACHINE_SANITIZED_H_
