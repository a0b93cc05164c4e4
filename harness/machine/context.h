// The `context` of a result document: what it was measured with, what disturbed
// it, and whether its times count. Every kind of document has a Context, one of
// a sweep a SweepContext. environment.h fills it in, validity.h judges it.
#ifndef ATTNBENCH_HARNESS_MACHINE_CONTEXT_H_
#define ATTNBENCH_HARNESS_MACHINE_CONTEXT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/document.h"
#include "harness/machine/roofline.h"

namespace attnbench {

// The name of a point: 16 hexadecimal digits.
inline const Rule kPointName{.pattern = "^[0-9a-f]{16}$"};

struct OpenMp {
  std::int64_t version = 0;
  std::int64_t max_threads = 0;
  // These are environment variables; nothing where they are not set.
  std::optional<std::string> num_threads, proc_bind, places, wait_policy,
      thread_limit, dynamic;

  static void Fields(auto& self, auto& visit) {
    visit("version", self.version);
    visit("max_threads", self.max_threads);
    visit("OMP_NUM_THREADS", self.num_threads);
    visit("OMP_PROC_BIND", self.proc_bind);
    visit("OMP_PLACES", self.places);
    visit("OMP_WAIT_POLICY", self.wait_policy);
    // Results from before these members lack them.
    visit("OMP_THREAD_LIMIT", self.thread_limit, Rule{.may_be_absent = true});
    visit("OMP_DYNAMIC", self.dynamic, Rule{.may_be_absent = true});
  }
};

// A library that decides times, as the loader found it: another one may be
// preloaded, and one library may choose among kernels when it is loaded.
struct LoadedLibrary {
  std::string file;  // its real path; "the program" if it is linked into it
  std::optional<std::string> version = {};
  // Only OpenBLAS says which core and how many threads it runs.
  std::optional<std::string> core = {};  // the processor of its kernels
  std::optional<std::int64_t> threads = {};

  static void Fields(auto& self, auto& visit) {
    visit("file", self.file);
    visit("version", self.version, Rule{.absent_if_unset = true});
    visit("core", self.core, Rule{.absent_if_unset = true});
    visit("threads", self.threads, Rule{.absent_if_unset = true});
  }
};

// The setup decides whether two results may be compared (fingerprint.h); it is
// the same for all runs of one program on one machine. What a machine does not
// tell is nothing or "unknown".
struct Setup {
  std::string commit;
  std::optional<bool> dirty;
  std::string build_id;
  std::uint64_t seed = 0;
  std::string compiler;
  std::string flags;
  std::string build_type;
  std::string cpu;
  // As `uname -m` has it. Results from before this member lack it.
  std::optional<std::string> architecture;
  std::vector<std::string> caches;  // such as "L1 Data 48K"
  std::int64_t cores = 0;
  std::optional<std::string> affinity;
  std::optional<std::string> kernel;
  std::optional<std::string> governor;
  std::optional<bool> turbo;
  std::optional<std::int64_t> aslr;
  std::string simd;
  OpenMp openmp;
  std::map<std::string, std::string> libraries;  // name -> version
  // Results from before these members lack them. `loaded` is by what a library
  // is for: "blas", "openmp", "malloc", "math", "c". `environment` has the
  // variables that are set and decide times, beside those of `openmp`.
  std::optional<std::map<std::string, LoadedLibrary>> loaded;
  std::optional<std::map<std::string, std::string>> environment;

  static void Fields(auto& self, auto& visit) {
    visit("commit", self.commit);
    visit("dirty", self.dirty);
    visit("build_id", self.build_id);
    visit("seed", self.seed);
    visit("compiler", self.compiler);
    visit("flags", self.flags);
    visit("build_type", self.build_type);
    visit("cpu", self.cpu);
    visit("architecture", self.architecture, Rule{.absent_if_unset = true});
    visit("caches", self.caches);
    visit("cores", self.cores, kAtLeastZero);
    visit("affinity", self.affinity);
    visit("kernel", self.kernel);
    visit("governor", self.governor);
    visit("turbo", self.turbo);
    visit("aslr", self.aslr, Rule{.minimum = 0, .maximum = 2});
    visit("simd", self.simd);
    visit("openmp", self.openmp);
    visit("libraries", self.libraries);
    visit("loaded", self.loaded, Rule{.absent_if_unset = true});
    visit("environment", self.environment, Rule{.absent_if_unset = true});
  }
};

// The number of CPUs that other programs kept busy (load_watch.h).
inline const Rule kLoadAtStart{
    .description =
        "CPUs that other programs kept busy in half a second before anything "
        "was measured; null: not known, or nothing was timed"};
inline const Rule kLoadAtEnd{
    .description =
        "CPUs that other programs kept busy while it measured, where they had "
        "most: over at least half a second, between the ends of points; null: "
        "not known, or nothing was timed"};

struct Context : Setup {
  std::string command;  // as the user typed it
  std::string date;     // such as "2000-01-01T00:00:00Z"
  std::optional<std::int64_t> memory_bytes;
  std::optional<double> load, load_end;
  bool valid = false;
  std::vector<std::string> invalid_reasons;
  std::vector<std::string> warnings;

  static void Fields(auto& self, auto& visit) {
    Setup::Fields(self, visit);
    visit("command", self.command);
    visit("date", self.date);
    // The size of the memory is no part of the setup: it decides what fits, not
    // how long it takes, and the kernel keeps a varying part for itself.
    visit("memory_bytes", self.memory_bytes);
    visit("load", self.load, kLoadAtStart);
    visit("load_end", self.load_end, kLoadAtEnd);
    visit("valid", self.valid);
    visit("invalid_reasons", self.invalid_reasons);
    visit("warnings", self.warnings);
  }
  // There is a reason if and only if it is not valid.
  static Json Conditions() {
    const auto of = [](const char* member, Json schema) {
      return Json{{"properties", {{member, std::move(schema)}}}};
    };
    return {{"if", of("valid", {{"const", true}})},
            {"then", of("invalid_reasons", {{"maxItems", 0}})},
            {"else", of("invalid_reasons", {{"minItems", 1}})}};
  }
};

// How many rounds of a point strayed (calibration.h).
struct Strayed {
  std::int64_t again = 0;  // rounds that were measured again
  std::int64_t still = 0;  // kept rounds that stray

  static void Fields(auto& self, auto& visit) {
    visit("again", self.again, kAtLeastZero);
    visit("still", self.still, kAtLeastZero);
  }
};

// The speed of the machine at a point (calibration.h): of the processor's clock
// by the chain, and of more by the other probes. There is one sample a round,
// for all processes.
struct Calibration {
  std::string point;
  std::vector<double> samples_ns;  // of the chain
  double median_ns = 0;
  double deviation = 0;  // how far the median may be off, relative to it
  // Results from before these members lack them.
  std::map<std::string, std::vector<double>> probes = {};  // by name, in ns
  std::optional<Strayed> strayed = {};

  static void Fields(auto& self, auto& visit) {
    visit("point", self.point, kPointName);
    visit("samples_ns", self.samples_ns,
          Rule{.exclusive_minimum = 0, .min_items = 1});
    visit("median_ns", self.median_ns, kAboveZero);
    visit("deviation", self.deviation, kAtLeastZero);
    visit("probes", self.probes,
          Rule{.exclusive_minimum = 0, .min_items = 1, .may_be_absent = true});
    visit("strayed", self.strayed, Rule{.may_be_absent = true});
  }
};

// A run of the program that measured points of a result (validity.h).
struct MeasuringRun {
  std::string date;
  std::string command;
  // The values of --cell-limit and --peer-limit; nothing if unknown, or without
  // a peer.
  std::optional<std::int64_t> cell_limit_s, peer_limit_s;
  std::optional<double> load, load_end;
  std::vector<std::string> invalid_reasons;
  std::vector<std::string> warnings;
  std::vector<std::string> points;
  // The file of a run that merge took from another file, and where its setup
  // differs from the context's.
  std::optional<std::string> file;
  std::optional<std::map<std::string, Json>> differs;

  static void Fields(auto& self, auto& visit) {
    visit("date", self.date);
    visit("command", self.command);
    visit("cell_limit_s", self.cell_limit_s, kAtLeastOne);
    visit("peer_limit_s", self.peer_limit_s,
          Rule{.minimum = 1, .may_be_absent = true});
    visit("load", self.load, kLoadAtStart);
    visit("load_end", self.load_end, kLoadAtEnd);
    visit("invalid_reasons", self.invalid_reasons);
    visit("warnings", self.warnings);
    visit("points", self.points, kPointName);
    visit("file", self.file, Rule{.absent_if_unset = true});
    visit("differs", self.differs, Rule{.absent_if_unset = true});
  }
};

// A workload whose inputs are in files, and what these held.
struct WorkloadFile {
  std::string workload = {};
  std::string hash = {};
  // Only captured energies have these.
  std::optional<std::int64_t> sequences = {}, entries = {}, outputs = {};

  static void Fields(auto& self, auto& visit) {
    visit("workload", self.workload, kNotEmpty);
    visit("hash", self.hash,
          Rule{.description = "of the bytes of its files: FNV-1a, 64 bits",
               .pattern = "^[0-9a-f]{16}$"});
    visit("sequences", self.sequences, kAtLeastOne);
    visit("entries", self.entries,
          Rule{.description = "of all sequences together, without padding",
               .minimum = 1});
    visit("outputs", self.outputs,
          Rule{.description = "the same of outputs", .minimum = 1});
  }
};

struct SweepContext : Context {
  std::vector<std::string> points;  // of the whole sweep, in its order
  // How many cells each of `points` has; empty in results from before this
  // field.
  std::vector<std::int64_t> cells_of_points;
  // How many are to measure each cell; nothing in results from before this
  // field.
  std::optional<std::int64_t> processes;
  std::optional<std::string> shard;  // "0/4"
  std::vector<MachineLimits> limits;
  std::vector<Calibration> calibration;
  // Empty in results from before these fields.
  std::vector<MeasuringRun> runs;
  std::vector<WorkloadFile> workload_files;

  static void Fields(auto& self, auto& visit) {
    Context::Fields(self, visit);
    visit("points", self.points, kPointName);
    visit("cells_of_points", self.cells_of_points,
          Rule{.minimum = 1, .may_be_absent = true});
    visit("processes", self.processes,
          Rule{.minimum = 1, .may_be_absent = true});
    visit("shard", self.shard, Rule{.pattern = "^[0-9]+/[1-9][0-9]*$"});
    visit("limits", self.limits);
    visit("calibration", self.calibration);
    visit("runs", self.runs, Rule{.may_be_absent = true});
    visit("workload_files", self.workload_files, Rule{.may_be_absent = true});
  }
};

// The entry of `context.runs` of a run that has measured nothing yet, judged by
// what is known then. Without a peer there is no `peer_limit_s`.
inline MeasuringRun RunOf(const Context& context,
                          std::optional<std::int64_t> cell_limit_s = {},
                          std::optional<std::int64_t> peer_limit_s = {}) {
  MeasuringRun run;
  run.date = context.date;
  run.command = context.command;
  run.cell_limit_s = cell_limit_s;
  run.peer_limit_s = peer_limit_s;
  run.load = context.load;
  run.load_end = context.load_end;
  run.invalid_reasons = context.invalid_reasons;
  run.warnings = context.warnings;
  return run;
}

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_MACHINE_CONTEXT_H_
