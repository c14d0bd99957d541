#include "base/temporary_path.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>

namespace smelt {
namespace {

// A signal handler reads these, so they are a plain array. If the array is full, further paths are
// not removed.
constexpr std::size_t kSlots = 64;
std::array<std::atomic<char*>, kSlots> paths{};

void remove_tree_by_rm(char* path) {
  const ::pid_t child = ::_Fork();  // unlike fork(), a signal handler may call it
  if (child == 0) {
    static char name[] = "rm", flags[] = "-rf", end[] = "--";
    char* const words[] = {name, flags, end, path, nullptr};
    ::execv("/bin/rm", words);
    ::_exit(127);
  }
  if (child > 0) ::waitpid(child, nullptr, 0);
}

}  // namespace

TemporaryPath::TemporaryPath(const std::string& path) : slot_(0) {
  char* copy = ::strdup(path.c_str());
  for (; slot_ < kSlots; ++slot_) {
    char* empty = nullptr;
    if (paths[slot_].compare_exchange_strong(empty, copy)) return;
  }
  std::free(copy);
}

TemporaryPath::~TemporaryPath() {
  if (slot_ < kSlots) std::free(paths[slot_].exchange(nullptr));
}

bool remove_temporary_paths() {
  bool any = false;
  for (std::atomic<char*>& path : paths)
    if (char* taken = path.exchange(nullptr)) {
      remove_tree_by_rm(taken);
      any = true;
    }
  return any;
}

}  // namespace smelt
