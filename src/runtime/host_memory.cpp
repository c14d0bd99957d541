#include "runtime/host_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>
#include <new>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace smelt {

void keep_freed_memory() {
#ifdef __GLIBC__
  constexpr int kNever = -1;
  mallopt(M_ARENA_MAX, 1);
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, kNever);
  mallopt(M_TOP_PAD, 256 << 20);
#endif
}

namespace {

struct FreeBlocks {
  std::mutex mutex;
  std::multimap<std::size_t, std::byte*> by_size;
};

// Never destroyed: a copy may end later than anything else.
FreeBlocks& free_blocks() {
  static FreeBlocks& blocks = *new FreeBlocks;
  return blocks;
}

}  // namespace

CopyMemory::Block CopyMemory::take(std::size_t size, After after) {
  FreeBlocks& free = free_blocks();
  if (after == After::kept) {
    const std::lock_guard lock(free.mutex);
    if (const auto found = free.by_size.find(size); found != free.by_size.end()) {
      std::byte* const block = found->second;
      free.by_size.erase(found);
      return {block, {size, after}};
    }
  }
  void* const block = ::mmap(nullptr, std::max<std::size_t>(size, 1), PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (block == MAP_FAILED) throw std::bad_alloc();
  return {static_cast<std::byte*>(block), {size, after}};
}

void CopyMemory::GiveBack::operator()(std::byte* block) const noexcept try {
  if (after == After::freed) {
    ::munmap(block, std::max<std::size_t>(size, 1));
    return;
  }
  FreeBlocks& free = free_blocks();
  const std::lock_guard lock(free.mutex);
  free.by_size.emplace(size, block);
} catch (const std::bad_alloc&) {
  ::munmap(block, std::max<std::size_t>(size, 1));
}

}  // namespace smelt
