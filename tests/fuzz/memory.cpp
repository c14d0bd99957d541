#include "fuzz/memory.h"

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::ptrdiff_t> now = 0, peak = 0, base = 0;  // base: allocated at watch_memory()

void* take(std::size_t size) {
  void* const block = std::malloc(size == 0 ? 1 : size);
  if (block == nullptr) throw std::bad_alloc();
  const std::ptrdiff_t held = now += static_cast<std::ptrdiff_t>(::malloc_usable_size(block));
  std::ptrdiff_t most = peak;
  while (held > most && !peak.compare_exchange_weak(most, held)) {
  }
  return block;
}

void give(void* block) noexcept {
  if (block != nullptr) now -= static_cast<std::ptrdiff_t>(::malloc_usable_size(block));
  std::free(block);
}

}  // namespace

void* operator new(std::size_t size) { return take(size); }
void* operator new[](std::size_t size) { return take(size); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept try {
  return take(size);
} catch (const std::bad_alloc&) {
  return nullptr;
}
void operator delete(void* block) noexcept { give(block); }
void operator delete[](void* block) noexcept { give(block); }
void operator delete(void* block, std::size_t) noexcept { give(block); }
void operator delete[](void* block, std::size_t) noexcept { give(block); }

namespace smelt {

void watch_memory() { peak = base = now.load(); }
std::size_t peak_allocated() { return static_cast<std::size_t>(peak - base); }

}  // namespace smelt
