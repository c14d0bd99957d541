#include "runtime/host_memory.h"

#include <cstdlib>

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

}  // namespace smelt
