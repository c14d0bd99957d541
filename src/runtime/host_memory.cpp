#include "runtime/host_memory.h"

#ifdef SMELT_JEMALLOC
#include <jemalloc/jemalloc.h>
#include <sys/types.h>

#include <cerrno>
#include <string>

#include "base/error.h"
#include "base/str.h"

// Read by jemalloc before main: blocks of 128 MB and more have a heap of their own, so that nothing
// is cut out of a step's temporaries; all else shares one, whichever thread frees it.
extern "C" const char* malloc_conf;
const char* malloc_conf = "narenas:1,oversize_threshold:134217728";
#endif

namespace smelt {

#ifdef SMELT_JEMALLOC
namespace {

template <typename T>
int set(const std::string& name, T value) {
  return mallctl(name.c_str(), nullptr, nullptr, &value, sizeof(value));
}

unsigned heaps() {
  unsigned out = 0;
  std::size_t size = sizeof(out);
  CHECK(mallctl("arenas.narenas", &out, &size, nullptr, 0) == 0);
  return out;
}

}  // namespace

void keep_freed_memory() {
  // Kept for good, what an evaluation leaves between the steps' blocks would add up.
  constexpr ssize_t kUnusedFor = 20'000;  // milliseconds
  for (const char* kind : {"dirty", "muzzy"}) {
    CHECK(set(str("arenas.", kind, "_decay_ms"), kUnusedFor) == 0, "jemalloc's settings");
    for (unsigned i = 0; i < heaps(); ++i) {
      const int failed = set(str("arena.", i, ".", kind, "_decay_ms"), kUnusedFor);
      CHECK(failed == 0 || failed == EFAULT, "jemalloc's heap ", i);  // EFAULT: not begun yet
    }
  }
}
#else
void keep_freed_memory() {}
#endif

}  // namespace smelt
