// attnbench diagnose: what published closed forms make of a user's own p or
// energies, or of those of a trained model; and which of them the user's own
// alpha looks like.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/error.h"
#include "harness/base/exit_code.h"
#include "harness/base/parse_text.h"
#include "harness/base/printable.h"
#include "harness/commands/commands.h"
#include "harness/commands/options.h"
#include "harness/commands/trained_model.h"
#include "harness/inputs/array_file.h"
#include "harness/inputs/score_batch.h"
#include "harness/latency/expected_latency.h"
#include "harness/machine/environment.h"
#include "harness/stability/diagnosis.h"
#include "harness/sweep/axes.h"
#include "harness/system/result_file.h"
#include "harness/training/held_out.h"
#include "mechanisms/description.h"
#include "mechanisms/registry.h"

namespace attnbench {
namespace {

struct DiagnoseArguments {
  std::string p, energies, chunk_energies, alpha;
  std::optional<Index> chunk_width;
  std::string lengths, mask;
  std::string output_lengths;
  ModelArguments model;
  std::string mechanisms;
  std::string precision = "f32";
  std::optional<double> tolerance;
  std::uint64_t seed = 1;
  std::string output;
  bool force = false;
  bool json = false;
};

// The array, none of whose files the answer will replace.
NumberArray ReadKept(const DiagnoseArguments& arguments,
                     const std::string& text, const std::string& name) {
  NumberArray array = ReadArray(text, name);
  RefuseToReplace(array.files, arguments.output);
  return array;
}

// `how` says how chunk energies are given.
void CheckMechanism(const std::string& name, bool has_chunk_energies,
                    const std::string& how) {
  std::vector<std::string> valid;
  for (const auto* mechanism : Mechanisms<double>()) {
    if (ChoosesByScan(mechanism->Describe())) {
      valid.push_back(mechanism->Describe().name);
    }
  }
  if (!Contains(valid, name)) {
    throw UserError("--mechanism", UnknownName("mechanism", name, valid));
  }
  if (!has_chunk_energies &&
      TakesScore(FindMechanism<double>(name)->Describe(), "chunk_energies")) {
    throw UserError("--mechanism", name + " needs " + how);
  }
}

// Reads the mechanisms, those of `by_default` where none was given.
void ReadMechanisms(const DiagnoseArguments& arguments,
                    const std::string& by_default, bool has_chunk_energies,
                    const std::string& how, DiagnosisRequest& request) {
  request.mechanisms = SplitList(
      arguments.mechanisms.empty() ? by_default : arguments.mechanisms,
      "--mechanism");
  for (const std::string& name : request.mechanisms) {
    CheckMechanism(name, has_chunk_energies, how);
  }
}

// Refuses options that no mechanism asked for reads.
void CheckUsed(const DiagnoseArguments& arguments,
               const std::vector<std::string>& mechanisms) {
  const auto none_has = [&](const auto& has) {
    return std::ranges::none_of(mechanisms, [&](const std::string& name) {
      return has(FindMechanism<double>(name)->Describe());
    });
  };
  if (!arguments.chunk_energies.empty() &&
      none_has([](const Description& about) {
        return TakesScore(about, "chunk_energies");
      })) {
    throw UserError("--chunk-energies",
                    "no mechanism asked for reads them; add --mechanism mocha");
  }
  if (arguments.chunk_width && none_has([](const Description& about) {
        return FindOption(about, "chunk_width") != nullptr;
      })) {
    throw UserError("--chunk-width",
                    "no mechanism asked for has a window; add --mechanism "
                    "mocha --chunk-energies FILE");
  }
  if (!arguments.alpha.empty() && !Contains(mechanisms, "monotonic")) {
    throw UserError("--alpha",
                    "is the attention of monotonic; add it to --mechanism");
  }
}

// Reads the options that are not about the numbers.
void ReadOptions(const DiagnoseArguments& arguments,
                 DiagnosisRequest& request) {
  const auto precision = FindNamed<Precision>(arguments.precision);
  if (!precision) {
    throw UserError("--precision", UnknownName("precision", arguments.precision,
                                               NamesOf<Precision>()));
  }
  request.in_f64 = precision == Precision::kF64;
  if (arguments.tolerance) {
    request.tolerance = *arguments.tolerance;
    request.mass_tolerance = *arguments.tolerance;
  }
  request.seed = arguments.seed;
}

DiagnosisRequest RequestOfModel(const DiagnoseArguments& arguments,
                                const TrainedModel& model) {
  model.CheckChooses();
  const TrainingSettings& settings = model.settings();
  DiagnosisRequest request;
  request.source = "energies";
  ReadMechanisms(arguments, settings.mechanism, settings.has_chunks(),
                 "chunk energies, which " + model.path() + " has not: it is " +
                     "of " + settings.mechanism,
                 request);
  ReadOptions(arguments, request);
  request.chunk_width = settings.chunk_width;
  request.sequences =
      ScoresOfHeldOut(model.checkpoint(), model.path(), model.num_sequences());
  Index U = 0, T = 0;
  for (const NamedTables& sequence : request.sequences) {
    U = std::max(U, sequence.at(request.source).rows);
    T = std::max(T, sequence.at(request.source).cols);
  }
  request.shape = {model.num_sequences(), U, T};
  return request;
}

// An output's contexts must not hold padding, whatever they hold otherwise.
void RefuseMassOnPadding(const ScoreBatch& alpha, double tolerance) {
  for (Index n = 0; n < alpha.count; ++n) {
    for (Index i = 0; i < alpha.outputs[Size(n)]; ++i) {
      const Index row = (n * alpha.U + i) * alpha.T;
      double mass = 0;
      for (Index j = alpha.entries[Size(n)]; j < alpha.T; ++j) {
        mass += std::abs(alpha.array.values[Size(row + j)]);
      }
      if (mass <= tolerance) continue;
      throw UserError(
          alpha.array.place + PlaceInArray(alpha.array.shape,
                                           Size(row + alpha.entries[Size(n)])),
          fmt::format("begins padding, on which its output has a mass of "
                      "{:.2g}: was the mask applied? Padding must have 0",
                      mass));
    }
  }
}

DiagnosisRequest RequestOfArrays(const DiagnoseArguments& arguments) {
  if (arguments.p.empty() == arguments.energies.empty()) {
    throw UserError("diagnose",
                    arguments.p.empty()
                        ? "needs --p FILE, --energies FILE or --model FILE"
                        : "takes --p or --energies, not both");
  }
  const bool is_p = arguments.energies.empty();
  DiagnosisRequest request;
  request.source = is_p ? "p_choose" : "energies";
  ReadMechanisms(arguments, "monotonic", !arguments.chunk_energies.empty(),
                 "--chunk-energies, e.g. --chunk-energies u.npy", request);
  CheckUsed(arguments, request.mechanisms);
  ReadOptions(arguments, request);
  request.chunk_width = arguments.chunk_width.value_or(request.chunk_width);
  ScoreBatch choice(ReadKept(arguments, is_p ? arguments.p : arguments.energies,
                             request.source));
  request.shape = {choice.array.shape.begin(), choice.array.shape.end()};
  if (!arguments.mask.empty()) {
    choice.entries =
        LengthsOfMask(ReadKept(arguments, arguments.mask, "mask"), choice);
  } else if (!arguments.lengths.empty()) {
    choice.entries = LengthsOf(
        ReadKept(arguments, arguments.lengths, "lengths"), choice, choice.T);
  }
  if (!arguments.output_lengths.empty()) {
    choice.outputs = LengthsOf(
        ReadKept(arguments, arguments.output_lengths, "output_lengths"), choice,
        choice.U);
  }
  const auto read_like = [&](const std::string& text, const char* name) {
    return BatchLike(choice, ReadKept(arguments, text, name));
  };
  for (Index n = 0; n < choice.count; ++n) {
    request.sequences.emplace_back()[request.source] = CutTable<float>(
        choice, n, is_p ? ScoreKind::kProbabilities : ScoreKind::kEnergies);
  }
  if (!arguments.chunk_energies.empty()) {
    const ScoreBatch chunk =
        read_like(arguments.chunk_energies, "chunk_energies");
    for (Index n = 0; n < choice.count; ++n) {
      request.sequences[Size(n)]["chunk_energies"] =
          CutTable<float>(chunk, n, ScoreKind::kEnergies);
    }
  }
  if (!arguments.alpha.empty()) {
    const ScoreBatch alpha = read_like(arguments.alpha, "alpha");
    request.alpha_file = alpha.array.place;
    RefuseMassOnPadding(alpha, request.mass_tolerance);
    for (Index n = 0; n < choice.count; ++n) {
      request.alpha.push_back(CutTable<double>(alpha, n, ScoreKind::kWeights));
    }
  }
  return request;
}

int RunDiagnose(const std::string& command_line,
                const DiagnoseArguments& arguments) {
  const std::optional<ResultFile> file =
      FileIfNamed(arguments.output, arguments.force);
  try {
    std::string text;
    DiagnosisRequest request;
    if (arguments.model.is_given()) {
      const TrainedModel model(arguments.model, arguments.output);
      request = RequestOfModel(arguments, model);
      text = model.Text() + ", each output given the target's symbols\n";
    } else {
      request = RequestOfArrays(arguments);
    }
    Diagnosis diagnosis = Diagnose(request);
    diagnosis.context = MakeContext(command_line, request.seed);
    const Json document = ToJson(diagnosis);
    if (file) file->Write(document);
    std::cout << (arguments.json
                      ? JsonText(document)
                      : PrintableLines(text + DiagnosisText(diagnosis)));
  } catch (const std::bad_alloc&) {
    throw UserError("diagnose", "needs more memory than there is");
  }
  return kGood;
}

}  // namespace

void AddDiagnose(CLI::App& app, const std::string& command_line, Command& run) {
  CLI::App* const command = app.add_subcommand(
      "diagnose",
      "what published closed forms make of your own p or energies, or of a "
      "trained model's");
  const auto arguments = std::make_shared<DiagnoseArguments>();
  const auto add = [&](const char* names, std::string& value, const char* type,
                       const char* help) {
    return command->add_option(names, value, help)->type_name(type);
  };
  add("--p", arguments->p, "FILE",
      "the probabilities of choosing, [U, T], [B, U, T] or [B, H, U, T]: an "
      ".npy, or an array of an .npz or of a case file, FILE:NAME, e.g. --p "
      "p.npy");
  add("--energies", arguments->energies, "FILE",
      "their energies instead, p = sigmoid(e), e.g. --energies model.npz:e "
      "(docs/sweeps.md: how to capture them in PyTorch)");
  add("--chunk-energies", arguments->chunk_energies, "FILE",
      "the energies of chunks, of the same shape, for mocha and matcha, e.g. "
      "--chunk-energies model.npz:u");
  add("--alpha", arguments->alpha, "FILE",
      "an alpha that your own code made of the same numbers: how wrong is it, "
      "and which published form does it look like? e.g. --alpha mine.npy (exit "
      "code 0 whatever the answer; --json: alpha.first_wrong)");
  AddParsed(*command, "-w,--chunk-width", arguments->chunk_width, "N",
            "MoChA's window, or inf, e.g. -w 8",
            [](const std::string& text, const std::string& name) {
              return text == "inf"
                         ? kInfiniteWidth
                         : ParseInteger(text, 1, kGreatestLength, name);
            })
      ->default_str("4");
  add("--lengths", arguments->lengths, "FILE",
      "how many entries of each sequence are not padding, [B], e.g. --lengths "
      "lengths.npy");
  add("--mask", arguments->mask, "FILE",
      "the same as a mask [B, T], True where an entry is padding, as "
      "PyTorch's key_padding_mask, e.g. --mask mask.npy")
      ->excludes(command->get_option("--lengths"));
  add("--output-lengths", arguments->output_lengths, "FILE",
      "how many outputs of each sequence are not padding, [B], e.g. "
      "--output-lengths outputs.npy");
  CLI::Option* const model =
      AddModel(*command,
               "the energies of a trained model, of outputs that follow the "
               "targets of its held-out sequences",
               arguments->model);
  for (const char* const array :
       {"--p", "--energies", "--chunk-energies", "--alpha", "--chunk-width",
        "--lengths", "--mask", "--output-lengths"}) {
    model->excludes(command->get_option(array));
  }
  add("--mechanism", arguments->mechanisms, "LIST",
      "monotonic, mocha, matcha, e.g. --mechanism monotonic,mocha "
      "--chunk-energies u.npy (default: monotonic, or that of --model)");
  add("--precision", arguments->precision, "NAME",
      "f32 or f64, in which published variants are computed, e.g. --precision "
      "f64")
      ->default_str("f32");
  AddShare(*command, "--tolerance", arguments->tolerance, "X", "0.001",
           "largest error that is not wrong, and, of --alpha, share of an "
           "output's mass (default 0.01, of --alpha 0.001), e.g. --tolerance "
           "0.001");
  AddSeed(*command, "of the scores whose gradients are compared, e.g. --seed 2",
          arguments->seed);
  AddOutput(*command, "the result file", "diagnosis.json", arguments->output,
            arguments->force);
  command->add_flag("--json", arguments->json,
                    "print the result instead of the table, e.g. --json");
  OnAsked(*command, run, [command_line, arguments] {
    return RunDiagnose(command_line, *arguments);
  });
}

}  // namespace attnbench
