// The program: finds the command, runs it, and turns every error into one line
// on stderr and an exit code. Under the name run-sweep (a link beside it) it
// is `attnbench run-sweep`.
#include <fcntl.h>
#include <fmt/format.h>
#include <malloc.h>
#include <omp.h>
#include <sys/mman.h>
#include <sys/resource.h>
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
#include "harness/machine/environment.h"
#include "harness/machine/sanitized.h"
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

// The options of a command, in both spellings.
std::vector<std::string> OptionNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      names.push_back("--" + name);
    }
    for (const std::string& name : option->get_snames()) {
      names.push_back("-" + name);
    }
  }
  return names;
}

std::vector<std::string> CommandNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands(nullptr)) {
    // Commands without a group are for the program itself.
    if (!command->get_group().empty()) names.push_back(command->get_name());
  }
  return names;
}

// The command that was chosen, or the program.
const CLI::App& ChosenOf(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? app : *chosen[0];
}

// The parser only collects unknown options: its own message would not name
// similar ones.
void CheckIsNoOption(const std::string& unknown, const CLI::App& command) {
  const std::string name = unknown.substr(0, unknown.find('='));
  if (name.size() <= 1 || !name.starts_with('-')) return;
  throw UserError(command.get_name(),
                  UnknownName("option", name, OptionNames(command)));
}

// This comes before what the parser finds missing or excluded: that may be a
// misspelt option, or its value taken for an argument.
void CheckOptionsAreKnown(const CLI::App& app) {
  for (const std::string& unknown : app.remaining(true)) {
    CheckIsNoOption(unknown, ChosenOf(app));
  }
}

void CheckNothingUnknown(const CLI::App& app) {
  const std::vector<std::string> unknown = app.remaining(true);
  if (unknown.empty()) return;
  const CLI::App& command = ChosenOf(app);
  CheckIsNoOption(unknown[0], command);
  if (&command == &app) {
    throw UserError(
        "command line",
        UnknownName("command", unknown[0].substr(0, unknown[0].find('=')),
                    CommandNames(app)));
  }
  throw UserError(command.get_name(),
                  fmt::format("unexpected argument '{}'; {} --help lists what "
                              "is allowed",
                              Shortened(unknown[0]), command.get_name()));
}

// An empty value (--shard "$unset") is a mistake, not a default.
void RefuseEmptyValues(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    option->check([](const std::string& value) {
      return value.empty() ? "an empty value; leave it out for the default"
                           : "";
    });
  }
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
void TakeSimdLevel(const std::optional<std::string>& option) {
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

// A file that is opened while standard output or error is closed (2>&-) would
// take its number, and get what is printed.
void OpenStandardFiles() {
  int descriptor = open("/dev/null", O_RDWR);
  while (descriptor >= 0 && descriptor <= STDERR_FILENO) {
    descriptor = open("/dev/null", O_RDWR);
  }
  close(descriptor);
}

// A trial frees its scratch arrays and the next one allocates them again.
// Memory that is handed back to the system in between comes back page by page,
// cleared: for large arrays that takes longer than the work. (-1 is no
// threshold at all; the largest int is one, of 2 GiB.)
void KeepFreedMemory() {
#ifdef __GLIBC__
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, -1);
#endif
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

// With less than this the program would end in the middle of its work, without
// a message.
void CheckSystemLimits() {
  struct Need {
    __rlimit_resource limit;
    const char* name;
    rlim_t unit;
    rlim_t least;
  };
  constexpr Need kNeeds[] = {
      {RLIMIT_NOFILE, "ulimit -n (open files)", 1, 32},
      {RLIMIT_STACK, "ulimit -s (KiB of stack)", 1024, 1024}};
  for (const Need& need : kNeeds) {
    rlimit limit{};
    if (getrlimit(need.limit, &limit) != 0) continue;
    if (limit.rlim_cur >= need.unit * need.least) continue;
    throw UserError(need.name,
                    fmt::format("is {}; at least {} is needed",
                                limit.rlim_cur / need.unit, need.least));
  }
}

// OpenBLAS starts a thread for every core when it is loaded. Each thread asks
// for a buffer of this size until it gets one, and so does the first matrix
// product.
constexpr std::size_t kBlasBufferBytes = std::size_t{128} << 20;

bool IsAddressSpaceLimited() {
  rlimit limit{};
  return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

void CheckAddressSpace() {
  void* const buffer = mmap(nullptr, kBlasBufferBytes, PROT_NONE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (buffer == MAP_FAILED) {
    throw UserError("memory",
                    "the address space is too small; raise ulimit -v");
  }
  munmap(buffer, kBlasBufferBytes);
}

// Ends the process, without exit() if a thread of OpenBLAS lacks its buffer:
// such a thread asks for ever, and exit() would wait for it.
[[noreturn]] void End(int code) {
  if (IsAddressSpaceLimited()) {
    std::cout.flush();
    std::fflush(nullptr);
    _exit(code);
  }
  std::exit(code);
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
  AddRunSweep(app, command_line, run);
  AddMeasurePoints(app, command_line, run);
  AddAdvise(app, command_line, run);
  AddDiagnose(app, command_line, run);
  AddList(app, run);
  AddDecode(app, run);
  AddExpect(app, run);
  AddVerify(app, command_line, run);
  AddShow(app, run);
  AddCompare(app, run);
  AddCheck(app, run);
  AddMerge(app, command_line, run);
  AddRoofline(app, command_line, run);
  AddStability(app, command_line, run);
  AddPythonCommands(app, command_line, run);
  AddComputed(app, command_line, run);
  AddTrain(app, arguments, run);
  AddHelp(app, run);
  RefuseEmptyValues(app);
  app.require_subcommand(0, 1);
  app.allow_extras();
  for (CLI::App* command : app.get_subcommands(nullptr)) {
    command->allow_extras();
    command->fallthrough();
    RefuseEmptyValues(*command);
  }
  try {
    app.parse(
        std::vector<std::string>(arguments.rbegin(), arguments.rend() - 1));
  } catch (const CLI::ExcludesError& error) {
    CheckOptionsAreKnown(app);
    throw UserError("command line",
                    std::string(error.what()) + "; give one of them");
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    CheckOptionsAreKnown(app);
    throw UserError("command line", error.what());
  }
  CheckNothingUnknown(app);
  TakeSimdLevel(simd);
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
  attnbench::End(attnbench::Main({argv, argv + argc}));
}
