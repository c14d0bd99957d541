#include "pjrt/host_memory.h"

#include <algorithm>

#ifdef SMELT_JEMALLOC
#include <jemalloc/jemalloc.h>
#include <sys/mman.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>

// jemalloc's settings, which it reads before main: one arena for all threads, and a separate one
// for blocks of kLargeBlockBytes and more, so that small blocks do not fragment the memory of a
// step's temporaries.
extern "C" const char* malloc_conf;
const char* malloc_conf = "narenas:1,oversize_threshold:33554432";
#endif

namespace smelt::pjrt {

#ifdef SMELT_JEMALLOC
namespace {

// The name of an mallctl setting or statistic of one arena, such as "stats.arenas.1.pdirty".
struct Name {
  char text[64];
  Name(const char* format, unsigned arena) {
    std::snprintf(text, sizeof text, format, arena);  // NOLINT(cert-err33-c): it fits
  }
};

// Sets a jemalloc setting. Returns false if jemalloc lacks the setting or rejects the value.
template <class T>
bool set(const Name& name, T value) {
  return mallctl(name.text, nullptr, nullptr, &value, sizeof value) == 0;
}

template <class T>
T get(const char* name, T otherwise) {
  T out{};
  std::size_t size = sizeof out;
  return mallctl(name, &out, &size, nullptr, 0) == 0 ? out : otherwise;
}

constexpr unsigned kNoArena = ~0U;

unsigned arena_of_block(std::size_t bytes) {
  void* volatile block = std::malloc(bytes);  // volatile: prevents optimizing it away
  void* pointer = block;
  unsigned arena = kNoArena;
  std::size_t size = sizeof arena;
  if (mallctl("arenas.lookup", &arena, &size, &pointer, sizeof pointer) != 0) arena = kNoArena;
  std::free(block);
  return arena;
}

extent_hooks_t large_hooks{};
extent_alloc_t* plain_alloc = nullptr;

// Maps memory for the arena of large blocks. If huge pages are not available, the madvise call
// fails without effect.
void* alloc_huge_pages(extent_hooks_t* hooks, void* address, std::size_t size,
                       std::size_t alignment, bool* zero, bool* commit, unsigned arena) {
  void* out = plain_alloc(hooks, address, size, alignment, zero, commit, arena);
  if (out != nullptr) ::madvise(out, size, MADV_HUGEPAGE);
  return out;
}

void use_huge_pages(unsigned arena) {
  const Name name("arena.%u.extent_hooks", arena);
  auto* hooks = get<extent_hooks_t*>(name.text, nullptr);
  if (hooks == nullptr) return;
  large_hooks = *hooks;
  plain_alloc = large_hooks.alloc;
  large_hooks.alloc = alloc_huge_pages;
  set(name, &large_hooks);
}

// Keeps freed blocks of this arena mapped; by default blocks of 8 MB and more are purged at once.
// `unused_ms` is how long unused blocks are kept; -1 keeps them forever.
void keep_freed_blocks(unsigned arena, ssize_t unused_ms) {
  constexpr std::size_t kNever = std::size_t{1} << 62;
  // jemalloc before 5.3 cannot set this threshold per arena. There, only a decay time of -1
  // prevents the immediate purge.
  if (!set(Name("arena.%u.oversize_threshold", arena), kNever)) unused_ms = -1;
  set(Name("arena.%u.dirty_decay_ms", arena), unused_ms);
  set(Name("arena.%u.muzzy_decay_ms", arena), unused_ms);
}

struct Arenas {
  unsigned main, large;
};
std::atomic<const Arenas*> kept_arenas = nullptr;  // null: freed memory is not kept

void refresh_statistics() {
  std::uint64_t epoch = 1;
  mallctl("epoch", nullptr, nullptr, &epoch, sizeof epoch);
}

}  // namespace

void keep_freed_memory() noexcept {
  static std::once_flag once;
  std::call_once(once, [] {
    static const Arenas arenas{arena_of_block(64), arena_of_block(kLargeBlockBytes)};
    if (arenas.main == kNoArena || arenas.large == kNoArena || arenas.main == arenas.large) return;
    keep_freed_blocks(arenas.main, 20'000);
    // jemalloc checks decay only about every thousand allocations of an arena. The arena of large
    // blocks has too few allocations for that; release_freed_memory() purges it instead.
    keep_freed_blocks(arenas.large, -1);
    use_huge_pages(arenas.large);
    kept_arenas = &arenas;
  });
}

void release_freed_memory() noexcept {
  const Arenas* arenas = kept_arenas;
  if (arenas == nullptr) return;
  constexpr std::size_t kKeptBytes = 64 << 20;
  refresh_statistics();
  std::size_t pages = 0;
  for (const unsigned arena : {arenas->main, arenas->large})
    for (const char* kind : {"stats.arenas.%u.pdirty", "stats.arenas.%u.pmuzzy"})
      pages += get<std::size_t>(Name(kind, arena).text, 0);
  if (pages * get<std::size_t>("arenas.page", 4096) <= kKeptBytes) return;
  for (const unsigned arena : {arenas->main, arenas->large})
    mallctl(Name("arena.%u.purge", arena).text, nullptr, nullptr, nullptr, 0);
}

std::size_t large_block_bytes() noexcept {
  const Arenas* arenas = kept_arenas;
  if (arenas == nullptr) return 0;
  refresh_statistics();
  return get<std::size_t>(Name("stats.arenas.%u.large.allocated", arenas->large).text, 0);
}

std::size_t await_freed_blocks(std::size_t limit, std::chrono::milliseconds patience) noexcept {
  using std::chrono::steady_clock;
  const auto until = steady_clock::now() + patience;
  std::size_t bytes = large_block_bytes();
  while (bytes > limit && steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::microseconds(50));
    bytes = large_block_bytes();
  }
  return bytes;
}
#else
void keep_freed_memory() noexcept {}
void release_freed_memory() noexcept {}
std::size_t large_block_bytes() noexcept { return 0; }
std::size_t await_freed_blocks(std::size_t, std::chrono::milliseconds) noexcept { return 0; }
#endif

void TemporariesGuard::await_freed() noexcept {
  const std::lock_guard lock(mutex_);
  if (!begun_) {
    begun_ = true;
    limit_ = large_block_bytes();
    return;
  }
  const std::size_t limit = std::max(limit_, accepted_);
  const std::size_t bytes = await_freed_blocks(limit, std::chrono::milliseconds(10));
  if (bytes <= limit) {
    limit_ = bytes;
  } else if (++timeouts_ == 3) {
    accepted_ = bytes;
    timeouts_ = 0;
  }
}

}  // namespace smelt::pjrt
