// Preloaded into a program (LD_PRELOAD), this is a system with one defect,
// which a variable chooses:
//
//   ODD_CLOCK_STEP_NS=10000  the steady clock moves in such steps
//   ODD_CLOCK_BACK=1         it goes back
//   ODD_FAIL=pipe2           this call fails: memfd_create, pipe2, socketpair
//                            or posix_spawn
#include <dlfcn.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace {

constexpr long kSecond = 1'000'000'000;

long NumberOf(const char* variable) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? 0 : std::atol(text);
}

bool Fails(const char* call) {
  const char* const failing = std::getenv("ODD_FAIL");
  if (failing == nullptr || std::strcmp(failing, call) != 0) return false;
  errno = EMFILE;
  return true;
}

template <class Function>
Function* Real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* now) noexcept {
  // Not the system call, which itself takes a microsecond on some machines.
  static auto* const real = Real<decltype(clock_gettime)>("clock_gettime");
  const int status = real(clock, now);
  static const long step_ns = NumberOf("ODD_CLOCK_STEP_NS");
  static const bool goes_back = NumberOf("ODD_CLOCK_BACK") != 0;
  if (status != 0 || clock != CLOCK_MONOTONIC) return status;
  long ns = now->tv_sec * kSecond + now->tv_nsec;
  static const long first_ns = ns;
  if (goes_back) ns = 2 * first_ns - ns;
  if (step_ns > 0) ns -= ns % step_ns;
  now->tv_sec = ns / kSecond;
  now->tv_nsec = ns % kSecond;
  return status;
}

int memfd_create(const char* name, unsigned flags) noexcept {
  if (Fails("memfd_create")) return -1;
  return Real<decltype(memfd_create)>("memfd_create")(name, flags);
}

int pipe2(int* ends, int flags) noexcept {
  if (Fails("pipe2")) return -1;
  return Real<decltype(pipe2)>("pipe2")(ends, flags);
}

int socketpair(int domain, int type, int protocol, int* ends) noexcept {
  if (Fails("socketpair")) return -1;
  return Real<decltype(socketpair)>("socketpair")(domain, type, protocol, ends);
}

int posix_spawn(pid_t* id, const char* path,
                const posix_spawn_file_actions_t* actions,
                const posix_spawnattr_t* attributes, char* const* arguments,
                char* const* environment) {
  if (Fails("posix_spawn")) return EAGAIN;
  return Real<decltype(posix_spawn)>("posix_spawn")(
      id, path, actions, attributes, arguments, environment);
}

}  // extern "C"
