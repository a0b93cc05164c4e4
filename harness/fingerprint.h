// Which fields of a result's `context` tell what it was measured with, and in
// what two results differ there. One table says it of every field, so that a
// field that changes from run to run on one machine (load, date, measured
// limits) is never compared: whoever did that saw differences everywhere.
#ifndef ATTNBENCH_HARNESS_FINGERPRINT_H_
#define ATTNBENCH_HARNESS_FINGERPRINT_H_

#include <span>
#include <string>
#include <vector>

#include "harness/axes.h"

namespace attnbench {

struct ContextField {
  const char* name;
  bool is_compared;  // otherwise it informs only
};

// Every field of the context of a sweep.
std::span<const ContextField> ContextFields();

// The compared fields of a context, as far as it has them, as they were for one
// of its `runs` (null: for the context itself). What the run had otherwise is
// in its "differs".
Json FieldsOfRun(const Json& context, const Json& run);

// That "differs" for a run with such fields: those that differ from the
// context's, with their values. Empty: none do.
Json DifferingFields(const Json& context, const Json& fields);

// 16 hexadecimal digits, of all compared fields of a context: the same for the
// same program and machine.
std::string FingerprintHash(const Json& context);

struct FingerprintDifference {
  std::string field;  // "governor", or "libraries.fmt" of a field with members
  Json a;  // null where it is missing; where runs of `a` differ among
           // themselves, a list of what they have, each once
  Json b;
};

// Where the contexts `a` and `b` differ in what is compared, in the table's
// order; of a field with members, each member by itself. A field that is
// missing, as in results from before there was one, is taken for null. One in
// which runs of `a` or of `b` differ among themselves is a difference whatever
// the other has: nobody knows which cells come from which.
std::vector<FingerprintDifference> FingerprintDifferences(const Json& a,
                                                          const Json& b);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_FINGERPRINT_H_
