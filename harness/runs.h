// The runs of the program that measured a result: one, or several where a run
// was resumed or shards were merged. Each is judged by itself, with its own
// load (validity.h), and names its points; what only the whole shows, drift and
// missing points, is judged of the whole. So a merge or a resumed run neither
// loses what was wrong with a part, nor keeps what is no longer wrong. Pure
// functions over documents.
#ifndef ATTNBENCH_HARNESS_RUNS_H_
#define ATTNBENCH_HARNESS_RUNS_H_

#include <string>

#include "harness/axes.h"

namespace attnbench {

// An entry of `context.runs`, of the context of one run as it is judged, with
// no points yet: {"date", "command", "cell_limit_s", "peer_limit_s",
// "load", "load_end", "invalid_reasons", "warnings", "points"}. `cell_limit_s`
// and `peer_limit_s` are what --cell-limit and --peer-limit were; null: not
// known, or no peer. Where merge has put runs together, an entry also has
// the "file" it comes from, and "differs", the fields of the context that were
// others for this run (fingerprint.h).
Json RunEntry(const Json& context, const Json& cell_limit_s,
              const Json& peer_limit_s);

// The entries of a result, an array. Where it says nothing of runs, as results
// from before there was that field, it is of one that measured all cells.
Json RunsOf(const Json& document);

// Sets of a context what follows from its `runs` and its `calibration`: `load`
// and `load_end`, the worst of any run (null where none is known), `warnings`,
// `invalid_reasons` and `valid`. What is so of every run is told once; what is
// of some stands behind the run's "file", where merge has put it there, or its
// date. `missing` says which points are not there; empty: none are missing.
void JudgeRuns(const std::string& missing, Json& context);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_RUNS_H_
