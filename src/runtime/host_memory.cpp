#include "runtime/host_memory.h"

#include <cstdint>
#include <cstdlib>

#ifdef __GLIBC__
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace smelt {
namespace {

#ifdef __GLIBC__
// Grows the heap to half of the machine's memory and asks for huge pages there. Nothing is touched, so this
// takes addresses only; what is allocated later lies in it. Without such a block nothing changes.
void reserve_huge_pages() {
  constexpr std::uintptr_t kHugePage = 2 << 20;
  const std::size_t bytes = static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) / 2 * sysconf(_SC_PAGESIZE);
  void* block = std::malloc(bytes);
  if (!block) return;
  const auto begin = (reinterpret_cast<std::uintptr_t>(block) + kHugePage - 1) / kHugePage * kHugePage;
  const auto end = reinterpret_cast<std::uintptr_t>(block) + bytes;
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
  std::free(block);
}
#endif

}  // namespace

void keep_freed_memory() {
#ifdef __GLIBC__
  constexpr int kNeverTrim = -1;
  mallopt(M_ARENA_MAX, 1);
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, kNeverTrim);
  mallopt(M_TOP_PAD, 256 << 20);
  static const bool reserved = (reserve_huge_pages(), true);
  (void)reserved;
#endif
}

}  // namespace smelt
