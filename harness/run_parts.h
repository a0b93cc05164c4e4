// What parts of one run are asked before they are put together, of a sweep
// (merge.h) or of a verification (verify_shard.h): that they are of one run,
// and which of its shards are not there.
#ifndef ATTNBENCH_HARNESS_RUN_PARTS_H_
#define ATTNBENCH_HARNESS_RUN_PARTS_H_

#include <cstdint>
#include <initializer_list>
#include <set>
#include <string>
#include <vector>

#include "harness/result_reader.h"
#include "harness/shard.h"

namespace attnbench {

// Throws UserError naming both files and the field where two documents differ
// in one, or have it not. Fields are JSON pointers, "/context/seed".
void CheckSameRun(const ResultDocument& first, const ResultDocument& other,
                  std::initializer_list<const char*> fields);

// What the context `other` was measured with and `first`, the one of the file
// `first_path`, was not (fingerprint.h): "cpu is "b", in first.json "a"".
std::vector<std::string> DifferenceTexts(const std::string& first_path,
                                         const Json& first, const Json& other);

// What a document calls its shard, "0/4". Throws UserError naming `where`.
Shard ShardOf(const std::string& text, const std::string& where);

// Of `count` shards those whose index is not `there`: "shards 1/4, 3/4 are
// missing"; empty where all are.
std::string MissingShardsText(const std::set<std::int64_t>& there,
                              std::int64_t count);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_RUN_PARTS_H_
