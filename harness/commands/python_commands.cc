// The commands that are in Python (python/attnbench/__main__.py): a row each.
// Their options stand here, so that help, completion, the man page and what is
// told of a wrong option are those of every other command.
#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <vector>

#include "harness/base/error.h"
#include "harness/base/json.h"
#include "harness/base/parse_text.h"
#include "harness/commands/commands.h"
#include "harness/commands/options.h"
#include "harness/sweep/axes.h"
#include "harness/sweep/request.h"
#include "harness/system/python.h"

namespace attnbench {
namespace {

struct PythonOption {
  std::string names;
  const char* type;  // of its value; empty: it is a flag
  std::string help;
  const char* needs = nullptr;
  std::vector<const char*> excludes = {};
  bool is_repeated = false;
  bool is_required = false;
  const char* default_text = nullptr;
  const Axis* axis = nullptr;  // that it is one value of
  // The range of a whole number; 0, 0 where it is none.
  std::int64_t least = 0;
  std::int64_t greatest = 0;
};

struct PythonCommand {
  const char* name;
  const char* summary;
  std::vector<PythonOption> operands;
  std::vector<PythonOption> options;
  std::vector<std::string> packages = {};  // that it needs beside start.py's
};

// `default_text` is what Python takes where it is not given
// (answers/advise.py).
PythonOption AxisOption(const char* name, const char* default_text,
                        const char* help) {
  const Axis& axis = FindAxis(name, name);
  const std::string letter = axis.letter.empty() ? "" : "-" + axis.letter + ",";
  return {.names = letter + OptionName(axis),
          .type = "VALUE",
          .help = help,
          .default_text = default_text,
          .axis = &axis};
}

std::vector<PythonOption> AdviseOptions() {
  return {
      {"--mechanism", "NAMES",
       "mechanisms to judge beside soft attention, e.g. --mechanism "
       "mocha,monotonic (default: all)"},
      AxisOption("memory_length", "400",
                 "entries of the memory (symbols of the source), e.g. -T 400"),
      AxisOption("output_length", "400",
                 "outputs, e.g. -U 60 (as many as entries unless it is given)"),
      AxisOption("dim", "256", "size of an entry and of a state, e.g. -d 512"),
      AxisOption("beam", "1",
                 "hypotheses of the beam search; 1 is greedy, e.g. --beam 8"),
      AxisOption("vocabulary", "1000", "symbols, e.g. --vocabulary 16000"),
      AxisOption("layers", "2",
                 "LSTM layers of the decoder, and of each direction of the "
                 "encoder, e.g. --layers 1"),
      AxisOption("encoder", "timed",
                 "timed, or given: the memory is there before the clock, e.g. "
                 "--encoder given"),
      AxisOption("chunk_width", "4", "MoChA's window, e.g. -w 8"),
      AxisOption("num_contexts", "32",
                 "contexts of the fixed-size memory, e.g. -K 64"),
      {.names = "--f",
       .type = "VALUE",
       .help = "AlignAtt's f: an output waits while it attends most to one of "
               "the last f entries, e.g. --f 8",
       .default_text = "4",
       .least = 1,
       .greatest = kGreatestLength},
      AxisOption("energy", "additive",
                 "the energy function; only additive ones make scans read the "
                 "whole memory, e.g. --energy normalized_additive"),
      {"--workload", "captured:FILE",
       "scans of your own model, whose energies set T, U and the number of "
       "sequences, e.g. --workload captured:captured.npz (docs/sweeps.md: how "
       "to capture them in PyTorch)"},
      {"--frames-per-second", "RATE",
       "entries of the memory that come in a second: times are told as parts "
       "of real time, too, e.g. --frames-per-second 25"},
      {"--outputs-per-second", "RATE",
       "the same by the outputs that are wanted in a second, e.g. "
       "--outputs-per-second 12.5"},
      {"--model", "FILE",
       "start from the lengths and sizes of a trained model, and from the "
       "share of the memory that its decoding by the threshold reads; what is "
       "typed beside it counts instead: a checkpoint that train "
       "--keep-checkpoints left, e.g. --model stretch.json.checkpoints/"
       "noise1-seed1.json"},
      {"--sequences", "N",
       "with --model: how many of its held-out sequences, from the first on, "
       "e.g. --sequences 100 (default: as many as its experiment has)",
       "--model"},
      {.names = "--repetitions",
       .type = "N",
       .help = "rounds; more make intervals narrower, e.g. --repetitions 40 "
               "(default 10)",
       .least = 1,
       .greatest = kMostRepetitions},
      {.names = "--seed",
       .type = "N",
       .help =
           fmt::format("from 0 to {}, of weights and sources, e.g. --seed 2",
                       kGreatestSeed),
       .default_text = "1",
       .greatest = kGreatestSeed},
      {"--force", "", "replace the output file, e.g. -o advice.json --force"},
      {"-o,--output", "FILE",
       "the result file (a file, never '-' or a pipe), e.g. -o advice.json"},
      {"--json", "", "print the result instead of the table, e.g. --json"}};
}

std::vector<PythonOption> ClaimsOptions() {
  return {
      {"--list", "",
       "measure nothing: print the claims and where they stand, e.g. claims "
       "--list"},
      {"--quick", "",
       "smaller grids and fewer trials, under a minute, e.g. claims --quick"},
      {.names = "--json",
       .type = "",
       .help = "print the result instead of the table, e.g. claims --quick "
               "--json",
       .excludes = {"--list"}},
      {.names = "-o,--output",
       .type = "FILE",
       .help = "the result (a file, never '-' or a pipe), e.g. -o "
               "claims.json",
       .excludes = {"--list"}},
      {"--results", "FOLDER",
       "keep what the verdicts were read from in this folder, a file for "
       "each measurement, e.g. --results build/claims"},
      {"--force", "",
       "replace files that are there, e.g. -o claims.json --force"},
      {"--resume",
       "",
       "go on with the sweeps that an earlier run has left in the folder, "
       "e.g. --results build/claims --resume",
       "--results",
       {"--force"}},
      {"--builds", "N",
       "relinks of this program that measure the sweeps in turn, a process "
       "each, e.g. --builds 20 (see run-sweep)"},
      {.names = "--eigen",
       .type = "DIR",
       .help = "folder with Eigen/Dense, which the program of MAD's authors "
               "is built with; may be repeated, e.g. --eigen eigen-3.2.10 "
               "--eigen /usr/include/eigen3 (default: the latter)",
       .is_repeated = true},
      {"--judge",
       "",
       "measure nothing: judge what an earlier run has left in the folder, "
       "e.g. --results build/claims --judge",
       "--results",
       {"--resume", "--builds", "--eigen", "--quick"}},
      {"--ledger", "FILE",
       "another ledger than the project's, e.g. --ledger mine.json"}};
}

std::vector<PythonOption> CompareOperands() {
  return {{.names = "A",
           .type = "FILE",
           .help = "the result before, e.g. before.json",
           .is_required = true},
          {.names = "B",
           .type = "FILE",
           .help = "the result after, e.g. after.json",
           .is_required = true},
          {"EXPERIMENT", "FILE",
           "with --programs: the experiment to measure, e.g. "
           "experiments/ci.json",
           "--programs"}};
}

std::vector<PythonOption> CompareOptions() {
  return {
      {"--programs", "",
       "A and B are two programs, or build folders, whose programs are linked "
       "again and again in other orders; both measure EXPERIMENT in turn, e.g. "
       "compare --programs build/old build/release experiments/ci.json"},
      {"--processes", "N", "of each program, e.g. --processes 40 (default 20)",
       "--programs"},
      {"--repetitions", "N",
       "rounds of a process, e.g. --repetitions 10 (default 5)", "--programs"},
      {"--cell-limit", "N",
       "seconds that a cell may take in one process, e.g. --cell-limit 60 "
       "(default 3600); a program has them, but 60 at most, to say what it is, "
       "and 600 at most to begin a point",
       "--programs"},
      {"--quick", "", "the quick profile of the experiment, e.g. --quick",
       "--programs"},
      {"--level", "P", kLevelHelp},
      {"--margin", "X", kMarginHelp},
      {"--format", "FORMAT", kReportFormatHelp},
      {.names = "--json",
       .type = "",
       .help = "the same as --format json, e.g. --json",
       .excludes = {"--format"}}};
}

std::vector<PythonOption> TrainOptions() {
  constexpr std::int64_t kMostJobs = 1024;
  return {
      {.names = "-o,--output",
       .type = "FILE",
       .help = "the result (a file, never '-' or a pipe), e.g. -o "
               "stretch.json; checkpoints go to stretch.json.checkpoints/",
       .is_required = true},
      {.names = "--only",
       .type = "NAME,...",
       .help = "only these alternatives, e.g. --only soft,mocha",
       .is_repeated = true},
      {.names = "--parts",
       .type = "FILE,...",
       .help = "take the runs that these results have of the experiment, e.g. "
               "-o all.json --parts soft.json,mocha.json",
       .is_repeated = true},
      {"--quick", "", "the experiment's short profile, e.g. --quick"},
      {.names = "-j,--jobs",
       .type = "N",
       .help = "runs at the same time, a process of one core each, e.g. -j 2",
       .default_text = "1",
       .least = 1,
       .greatest = kMostJobs},
      {"--resume", "",
       "go on with what is missing in the output, e.g. -o stretch.json "
       "--resume"},
      {.names = "--force",
       .type = "",
       .help = "replace the output file, e.g. -o stretch.json --force",
       .excludes = {"--resume"}},
      {"--keep-checkpoints", "",
       "keep the last checkpoint of each run, which is the trained model, e.g. "
       "--keep-checkpoints"},
      {.names = "--checkpoint-seconds",
       .type = "S",
       .help = "time between checkpoints, e.g. --checkpoint-seconds 10",
       .default_text = "60"},
      {.names = "--device",
       .type = "NAME",
       .help = "where PyTorch computes: cpu, or cuda where it has a GPU, e.g. "
               "--device cuda",
       .default_text = "cpu"}};
}

const std::vector<PythonCommand>& PythonCommands() {
  static const std::vector<PythonCommand> commands = {
      {"advise",
       "whether another attention than soft pays in a decoder of your shape",
       {},
       AdviseOptions()},
      {"claims",
       "measure what the papers claim, and say of each whether it holds here",
       {{.names = "CLAIM",
         .type = "ID...",
         .help = "claims by their ids, e.g. claims mad-linear mocha-w1 "
                 "(default: all)",
         .is_repeated = true}},
       ClaimsOptions()},
      {"compare",
       "two results: FASTER, SLOWER, SAME or AMBIGUOUS for every cell",
       CompareOperands(), CompareOptions()},
      {"report",
       "one page of HTML that shows results: claims, figures, validity, cells",
       {{.names = "results",
         .type = "RESULT...",
         .help =
             "what run-sweep, verify, stability, gap, roofline, claims, advise "
             "or diagnose wrote, e.g. report sweep.json verify.json",
         .is_repeated = true}},
       {{"--force", "", "replace the output file, e.g. -o report.html --force"},
        {"-o,--output", "FILE",
         "the page (a file, never '-' or a pipe), e.g. -o report.html"},
        {"--title", "TEXT", "its heading, e.g. --title 'After the change'"}}},
      {"draw",
       "figures of results, as PNG and SVG",
       {{.names = "results",
         .type = "RESULT...",
         .help = "what run-sweep, advise, stability, gap, diagnose, compare "
                 "--json, "
                 "decode, expect or train wrote, e.g. draw sweep.json",
         .is_repeated = true}},
       {{"--figure", "NAME",
         "only this figure, e.g. --figure mocha_figure3 (default: every figure "
         "that fits)"},
        {"-o,--output", "FOLDER",
         "a folder that is there, e.g. -o figures (default: here)"},
        {"--list", "",
         "only list the figures, and what each needs, e.g. draw --list"}}},
      {"train",
       "trains small models with any attention, and tells how well they decode",
       {{.names = "EXPERIMENT",
         .type = "FILE",
         .help = "e.g. experiments/training/stretch.json",
         .is_required = true}},
       TrainOptions(),
       {"torch"}}};
  return commands;
}

void AddOption(const PythonOption& said, CLI::App& command) {
  if (*said.type == '\0') {
    command.add_flag(said.names, said.help);
  } else {
    CLI::Option* const added = command.add_option(said.names, said.help);
    added->type_name(said.type)
        ->expected(1,
                   said.is_repeated ? CLI::detail::expected_max_vector_size : 1)
        ->allow_extra_args(false);
    added->required(said.is_required);
    if (said.default_text != nullptr) added->default_str(said.default_text);
  }
}

void AddOperand(const PythonOption& said, CLI::App& command) {
  CLI::Option* const added =
      command.add_option(said.names, said.help)->type_name(said.type);
  if (said.is_repeated) {
    added->expected(0, CLI::detail::expected_max_vector_size)
        ->allow_extra_args();
  }
  added->required(said.is_required);
}

// "--output" of "-o,--output".
std::string LongName(const PythonOption& option) {
  return option.names.substr(option.names.find(',') + 1);
}

// Throws UserError for what is no value of the option's axis, or out of its
// range.
std::string Checked(const PythonOption& option, const std::string& text) {
  if (option.greatest != 0) {
    return fmt::to_string(
        ParseInteger(text, option.least, option.greatest, LongName(option)));
  }
  if (option.axis == nullptr) return text;
  const std::string name = OptionName(*option.axis);
  const AxisValue value = CheckAxisValue(*option.axis, Json(text), name);
  if (option.axis->type == AxisType::kInteger && !value.is_whole()) {
    throw UserError(name, fmt::format("'{}' is not a number; give one whole "
                                      "number, e.g. 400",
                                      value.Shown()));
  }
  return value.Shown();
}

// What was given, as Python takes it.
std::vector<std::string> Given(const PythonCommand& said,
                               const CLI::App& command) {
  std::vector<std::string> words = {said.name};
  for (const PythonOption& option : said.options) {
    const std::string name = LongName(option);
    for (const std::string& value : command.get_option(name)->results()) {
      words.push_back(
          *option.type == '\0' ? name : name + "=" + Checked(option, value));
    }
  }
  if (!said.operands.empty()) words.emplace_back("--");
  for (const PythonOption& operand : said.operands) {
    for (const std::string& value :
         command.get_option(operand.names)->results()) {
      words.push_back(value);
    }
  }
  return words;
}

}  // namespace

void AddPythonCommands(CLI::App& app, const std::string& command_line,
                       Command& run) {
  for (const PythonCommand& said : PythonCommands()) {
    CLI::App* const command = app.add_subcommand(said.name, said.summary);
    for (const PythonOption& operand : said.operands) {
      AddOperand(operand, *command);
    }
    for (const PythonOption& option : said.options) {
      AddOption(option, *command);
    }
    for (const auto* all : {&said.operands, &said.options}) {
      for (const PythonOption& option : *all) {
        CLI::Option* const added = command->get_option(LongName(option));
        if (option.needs != nullptr) {
          added->needs(command->get_option(option.needs));
        }
        for (const char* const other : option.excludes) {
          added->excludes(command->get_option(other));
        }
      }
    }
    command->footer(
        "It runs Python: what the variable ATTNBENCH_PYTHON names, else that "
        "of an active\nenvironment (venv, conda) that has the packages, else "
        "the system's.");
    OnAsked(*command, run, [&said, command, command_line]() -> int {
      BecomePython(said.name, kPythonCommands, Given(said, *command),
                   command_line, said.packages);
    });
  }
}

}  // namespace attnbench
