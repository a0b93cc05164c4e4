// The program: finds the command, runs it, and turns every error into one line
// on stderr and an exit code. Under the name run-sweep (a link beside it) it
// is `attnbench run-sweep`.
#include <fmt/format.h>
#include <omp.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iostream>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/error.h"
#include "harness/base/exit_code.h"
#include "harness/base/parse_text.h"
#include "harness/base/printable.h"
#include "harness/commands/commands.h"
#include "harness/commands/unknown_options.h"
#include "harness/machine/environment.h"
#include "harness/machine/sanitized.h"
#include "harness/system/process_start.h"
#include "harness/system/python.h"
#include "mechanisms/common/blas_threads.h"
#include "mechanisms/kernels/kernels.h"
#include "mechanisms/kernels/self_test.h"

namespace attnbench {
namespace {

// Prints one line, whatever a name from the command line or a library contains.
void Complain(const std::string& text) {
  std::cout.flush();
  std::cerr << "attnbench: " << Printable(text) << std::endl;
}

// The command line as a shell would read it again.
std::string CommandLine(const std::vector<std::string>& arguments) {
  std::string line;
  for (const std::string& argument : arguments) {
    if (!line.empty()) line += ' ';
    const bool is_plain =
        !argument.empty() &&
        std::all_of(argument.begin(), argument.end(), [](char c) {
          return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
                 std::string_view("_-+=./:,").find(c) != std::string_view::npos;
        });
    if (is_plain) {
      line += argument;
      continue;
    }
    line += '\'';
    for (const char c : argument)
      line += c == '\'' ? "'\\''" : std::string(1, c);
    line += '\'';
  }
  return line;
}

// A full disk behind a redirection shows only when the text is flushed.
void CheckStandardOutput() {
  std::cout.flush();
  if (!std::cout || std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    throw UserError("standard output", "cannot be written (a full disk?)");
  }
}

// attnbench help COMMAND, the same as COMMAND --help.
void AddHelp(CLI::App& app, Command& run) {
  CLI::App* const command =
      app.add_subcommand("help", "what a command does, and its options");
  const auto name = std::make_shared<std::string>();
  command->add_option("COMMAND", *name, "e.g. help run-sweep");
  command->callback([&app, &run, name] {
    run = [&app, name] {
      const std::vector<std::string> names = CommandNames(app);
      if (!name->empty() && !Contains(names, *name)) {
        throw UserError("help", UnknownName("command", *name, names));
      }
      // help() of the parser would be that of `help`.
      std::cout << (name->empty()
                        ? app.get_formatter()->make_help(
                              &app, app.get_name(), CLI::AppFormatMode::Normal)
                        : app.get_subcommand(*name)->help(app.get_name()));
      return kGood;
    };
  });
}

void AddSimdOption(CLI::App& app, std::optional<std::string>& level) {
  app.add_option(
         "--simd", level,
         fmt::format("SIMD level of the kernels instead of the best, "
                     "one of {}; the variable ATTNBENCH_SIMD does the "
                     "same, e.g. --simd {}",
                     fmt::join(SimdLevels(), ", "), SimdLevels().back()))
      ->type_name("LEVEL");
}

// The option takes precedence over the variable.
void ForceSimdLevelOf(const std::optional<std::string>& option) {
  const char* const variable = std::getenv("ATTNBENCH_SIMD");
  const std::string place = option ? "--simd" : "ATTNBENCH_SIMD";
  const std::string level = option.value_or(variable ? variable : "");
  if (!option && level.empty()) return;
  const std::vector<std::string> levels = SimdLevels();
  if (std::find(levels.begin(), levels.end(), level) == levels.end()) {
    throw UserError(place, UnknownName("SIMD level", level, levels));
  }
  ForceSimdLevel(level);
  setenv("ATTNBENCH_SIMD", level.c_str(), 1);  // for programs that it becomes
}

// OpenBLAS starts threads as it is loaded, long before main. Where the system
// gives none it sends SIGINT to this process, which would look like an
// interrupt of the user's. Only .preinit_array of a program comes before the
// libraries that it is linked with; a sanitizer's own beginning may come later.
#if !ATTNBENCH_IS_SANITIZED
struct sigaction before_libraries;

void EndAtLoad(int /*signal*/, siginfo_t* info, void* /*context*/) {
  if (info->si_pid != getpid()) _exit(kInterrupted);
  constexpr std::string_view kText =
      "attnbench: threads: the system gives no more of them (ulimit -u)\n";
  [[maybe_unused]] const ssize_t written =
      write(STDERR_FILENO, kText.data(), kText.size());
  _exit(kWrongUsage);
}

void CatchSignalAtLoad() {
  struct sigaction action {};
  action.sa_sigaction = EndAtLoad;
  action.sa_flags = static_cast<int>(SA_SIGINFO);
  sigaction(SIGINT, nullptr, &before_libraries);
  if (before_libraries.sa_handler != SIG_IGN) {
    sigaction(SIGINT, &action, nullptr);
  }
}

__attribute__((section(".preinit_array"),
               used)) void (*const kAtLoad)() = CatchSignalAtLoad;
#endif

// An empty value (--shard "$unset") is a mistake, not a default.
void RefuseEmptyValues(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    option->check([](const std::string& value) {
      return value.empty() ? "an empty value; leave it out for the default"
                           : "";
    });
  }
}

void AddCommands(CLI::App& app, const std::string& command_line, Command& run) {
  AddRunSweep(app, command_line, run);
  AddMeasurePoints(app, command_line, run);
  AddDiagnose(app, command_line, run);
  AddList(app, run);
  AddDecode(app, run);
  AddExpect(app, run);
  AddVerify(app, command_line, run);
  AddShow(app, run);
  AddCheck(app, run);
  AddMerge(app, command_line, run);
  AddRoofline(app, command_line, run);
  AddStability(app, command_line, run);
  AddGap(app, command_line, run);
  AddPythonCommands(app, command_line, run);
  AddComputed(app, command_line, run);
  AddMeasureInTurn(app, run);
  AddHelp(app, run);
  RefuseEmptyValues(app);
  app.require_subcommand(0, 1);
  app.allow_extras();
  for (CLI::App* command : app.get_subcommands(nullptr)) {
    command->allow_extras();
    command->fallthrough();
    RefuseEmptyValues(*command);
  }
}

// The parser gives values to options before it looks for --help: a wrong value
// beside it is no reason to refuse help.
void CheckForHelp(const CLI::App& app) {
  if (app.get_help_ptr()->count() > 0) throw CLI::CallForHelp();
  for (const CLI::App* command : app.get_subcommands()) CheckForHelp(*command);
}

// Throws CLI::ParseError where help, or the version, was asked for.
void Parse(CLI::App& app, const std::vector<std::string>& arguments) {
  try {
    app.parse(
        std::vector<std::string>(arguments.rbegin(), arguments.rend() - 1));
  } catch (const CLI::ExcludesError& error) {
    CheckOptionsAreKnown(app);
    throw UserError("command line",
                    std::string(error.what()) + "; give one of them");
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) throw;
    CheckForHelp(app);
    CheckOptionsAreKnown(app);
    throw UserError("command line", error.what());
  } catch (const UserError&) {  // an option refused its value
    CheckForHelp(app);
    CheckOptionsAreKnown(app);
    throw;
  }
  CheckNothingUnknown(app);
}

int Run(std::vector<std::string> arguments) {
  CheckAddressSpace();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    CheckUtf8(arguments[i],
              i == 0 ? "the program's path" : fmt::format("argument {}", i));
  }
  // A command in Python that runs this program says what the user typed.
  const char* const typed = std::getenv(kTypedVariable);
  const std::string command_line =
      typed == nullptr ? CommandLine(arguments) : typed;
  if (std::filesystem::path(arguments[0]).filename() == "run-sweep") {
    arguments.insert(arguments.begin() + 1, "run-sweep");
  }
  CLI::App app(
      "Measures sequence-to-sequence attention that decodes online, in "
      "sweeps over lengths, widths, batches, threads and precisions, and "
      "verifies that what trains is what decodes.",
      "attnbench");
  std::optional<std::string> simd;
  AddSimdOption(app, simd);
  app.set_version_flag("--version", VersionText,
                       "the program's version and commit");
  Command run;
  AddCommands(app, command_line, run);
  try {
    Parse(app, arguments);
  } catch (const CLI::ParseError& help) {
    return app.exit(help);
  }
  ForceSimdLevelOf(simd);
  if (!run) {
    throw UserError("command line",
                    fmt::format("a command is needed: {}",
                                fmt::join(CommandNames(app), ", ")));
  }
  CheckBestKernels();
  return run();
}

int Main(const std::vector<std::string>& arguments) {
  try {
    CheckSystemLimits();
    const int code = Run(arguments);
    CheckStandardOutput();
    return code;
  } catch (const UserError& error) {
    Complain(error.what());
    return kWrongUsage;
  } catch (const std::bad_alloc&) {
    // This code must not allocate, nor run what libraries do at exit, which
    // might.
    constexpr std::string_view kText = "attnbench: there is no memory left\n";
    [[maybe_unused]] const ssize_t written =
        write(STDERR_FILENO, kText.data(), kText.size());
    _exit(kInternalError);
  } catch (const std::exception& error) {
    Complain(std::string("internal error: ") + error.what());
    return kInternalError;
  }
}

}  // namespace
}  // namespace attnbench

int main(int argc, char** argv) {
#if !ATTNBENCH_IS_SANITIZED
  sigaction(SIGINT, &attnbench::before_libraries, nullptr);
#endif
  attnbench::OpenStandardFiles();
  attnbench::KeepFreedMemory();
  // Growing beyond the file size limit (ulimit -f) is a full disk, not a crash.
  std::signal(SIGXFSZ, SIG_IGN);
  attnbench::UseOneBlasThread();
  omp_set_dynamic(0);  // a loop gets the threads that it asks for
  attnbench::EndProcess(attnbench::Main({argv, argv + argc}));
}
