#include "runtime/host_memory.h"

#ifdef SMELT_JEMALLOC
#include <jemalloc/jemalloc.h>
#include <sys/mman.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>

#include "base/error.h"
#include "base/str.h"

// Read by jemalloc before main: one arena for all threads, and one for large blocks, so that nothing
// is cut out of a step's temporaries. The number is kLargeBlockBytes.
extern "C" const char* malloc_conf;
const char* malloc_conf = "narenas:1,oversize_threshold:33554432";
#endif

namespace smelt {

#ifdef SMELT_JEMALLOC
namespace {

constexpr unsigned kMainArena = 0, kLargeArena = 1;

template <class T>
void set(const std::string& name, T value) {
  CHECK(mallctl(name.c_str(), nullptr, nullptr, &value, sizeof(value)) == 0, name);
}

template <class T>
T get(const char* name) {
  T out{};
  std::size_t size = sizeof(out);
  CHECK(mallctl(name, &out, &size, nullptr, 0) == 0, name);
  return out;
}

void refresh_statistics() { set("epoch", std::uint64_t{1}); }

extent_hooks_t large_hooks{};
extent_alloc_t* plain_alloc = nullptr;

// Maps memory for the arena of large blocks. Where huge pages are not available the advice fails and
// changes nothing.
void* alloc_huge_pages(extent_hooks_t* hooks, void* address, std::size_t size,
                       std::size_t alignment, bool* zero, bool* commit, unsigned arena) {
  void* out = plain_alloc(hooks, address, size, alignment, zero, commit, arena);
  if (out != nullptr) ::madvise(out, size, MADV_HUGEPAGE);
  return out;
}

void use_huge_pages(unsigned arena) {
  const std::string name = str("arena.", arena, ".extent_hooks");
  large_hooks = *get<extent_hooks_t*>(name.c_str());
  plain_alloc = large_hooks.alloc;
  large_hooks.alloc = alloc_huge_pages;
  set(name, &large_hooks);
}

bool keeps_freed_memory = false;

}  // namespace

void keep_freed_memory() {
  static std::once_flag once;
  std::call_once(once, [] {
    void* volatile block = std::malloc(kLargeBlockBytes);  // makes the arena of large blocks
    std::free(block);
    // jemalloc purges freed blocks of this size at once, whatever the decay says.
    constexpr std::size_t kNever = std::size_t{1} << 62;
    // In the main arena, what was not used for 20 s is returned; in the other one nothing is, since
    // jemalloc looks for it only every thousand allocations.
    for (const char* kind : {"dirty", "muzzy"}) {
      set(str("arena.", kMainArena, ".", kind, "_decay_ms"), ssize_t{20'000});
      set(str("arena.", kLargeArena, ".", kind, "_decay_ms"), ssize_t{-1});
    }
    for (const unsigned arena : {kMainArena, kLargeArena})
      set(str("arena.", arena, ".oversize_threshold"), kNever);
    use_huge_pages(kLargeArena);
    keeps_freed_memory = true;
  });
}

void release_freed_memory() {
  if (!keeps_freed_memory) return;
  constexpr std::size_t kKeptBytes = 64 << 20;
  refresh_statistics();
  const std::size_t pages = get<std::size_t>("stats.arenas.0.pdirty") +
                            get<std::size_t>("stats.arenas.1.pdirty");
  if (pages * get<std::size_t>("arenas.page") <= kKeptBytes) return;
  for (const unsigned arena : {kMainArena, kLargeArena})
    CHECK(mallctl(str("arena.", arena, ".purge").c_str(), nullptr, nullptr, nullptr, 0) == 0);
}

std::size_t large_block_bytes() {
  if (!keeps_freed_memory) return 0;
  refresh_statistics();
  return get<std::size_t>("stats.arenas.1.large.allocated");
}

std::size_t await_freed_blocks(std::size_t limit) {
  using std::chrono::steady_clock;
  const auto until = steady_clock::now() + std::chrono::milliseconds(10);
  std::size_t bytes = large_block_bytes();
  while (bytes > limit && steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::microseconds(50));
    bytes = large_block_bytes();
  }
  return bytes;
}
#else
void keep_freed_memory() {}
void release_freed_memory() {}
std::size_t large_block_bytes() { return 0; }
std::size_t await_freed_blocks(std::size_t) { return 0; }
#endif

}  // namespace smelt
