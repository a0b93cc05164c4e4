// Checks for bugs, not for users' input: a failed check prints the expression,
// its values and its place, and ends the program. A user's input is refused by
// harness/base/error.h instead, at the edge, before it gets here.
//
// ATTN_CHECK(length <= capacity) << ...;   is not offered on purpose: the two
// values of a comparison are what one needs, so there is one macro a relation.
#ifndef ATTNBENCH_MECHANISMS_COMMON_CHECK_H_
#define ATTNBENCH_MECHANISMS_COMMON_CHECK_H_

#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>

namespace attnbench {

[[noreturn]] inline void CheckFailed(const char* file, int line,
                                     const std::string& what) {
  std::fprintf(stderr, "%s:%d: check failed: %s\n", file, line, what.c_str());
  std::abort();
}

template <class A, class B>
std::string CompareText(const char* expression, const A& a, const B& b) {
  std::ostringstream text;
  text << expression << " (" << a << " against " << b << ")";
  return text.str();
}

}  // namespace attnbench

#define ATTN_CHECK(condition)                                   \
  do {                                                          \
    if (!(condition)) {                                         \
      ::attnbench::CheckFailed(__FILE__, __LINE__, #condition); \
    }                                                           \
  } while (false)

#define ATTN_CHECK_OP(op, a, b)                                           \
  do {                                                                    \
    const auto& check_a = (a);                                            \
    const auto& check_b = (b);                                            \
    if (!(check_a op check_b)) {                                          \
      ::attnbench::CheckFailed(                                           \
          __FILE__, __LINE__,                                             \
          ::attnbench::CompareText(#a " " #op " " #b, check_a, check_b)); \
    }                                                                     \
  } while (false)

#define ATTN_CHECK_EQ(a, b) ATTN_CHECK_OP(==, a, b)
#define ATTN_CHECK_LE(a, b) ATTN_CHECK_OP(<=, a, b)
#define ATTN_CHECK_LT(a, b) ATTN_CHECK_OP(<, a, b)

// These are for loops that are timed: they cost nothing in a release build.
#ifdef NDEBUG
#define ATTN_DCHECK_LT(a, b) \
  do {                       \
  } while (false)
#else
#define ATTN_DCHECK_LT(a, b) ATTN_CHECK_LT(a, b)
#endif

#endif  // ATTNBENCH_MECHANISMS_COMMON_CHECK_H_
