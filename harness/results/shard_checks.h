// Checks parts of a sweep before merge.h puts them together: whether they are
// of one run, and which of its shards are missing.
#ifndef ATTNBENCH_HARNESS_RESULTS_SHARD_CHECKS_H_
#define ATTNBENCH_HARNESS_RESULTS_SHARD_CHECKS_H_

#include <cstdint>
#include <initializer_list>
#include <set>
#include <string>
#include <vector>

#include "harness/base/json.h"
#include "harness/machine/context.h"
#include "harness/sweep/shard.h"

namespace attnbench {

// A document of any kind that was read.
struct ResultDocument {
  std::string path;  // as the user gave it
  Json json;
};

// Throws UserError naming both files and the field if two documents differ in
// one, or lack it. Fields are JSON pointers, "/context/seed".
void CheckSameRun(const ResultDocument& first, const ResultDocument& other,
                  std::initializer_list<const char*> fields);

// Texts of where the setup `other` differs from `first`, which is of the file
// `first_path`, both as JSON (fingerprint.h): "cpu is "b", in first.json "a"".
std::vector<std::string> DifferenceTexts(const std::string& first_path,
                                         const Json& first, const Json& other);

// Reads a document's name of its shard, "0/4". Throws UserError naming `where`.
Shard ShardOf(const std::string& text, const std::string& where);

// Tells which of `count` shards have an index that is not `there`: "shards 1/4,
// 3/4 are missing"; empty if all are there.
std::string MissingShardsText(const std::set<std::int64_t>& there,
                              std::int64_t count);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_RESULTS_SHARD_CHECKS_H_
