// How this process holds memory while the CPU plugin runs programs in it.
//
// The plugin allocates a step's temporaries with malloc and frees them when the step ends. malloc is
// jemalloc's, which would return large blocks to the system at once: faulting their pages in again
// takes 15 to 45 % of a step (docs/performance.md). Here freed memory is kept, and returned at the
// points where a program no longer needs it.
//
// All of this does nothing in a program built for a sanitizer, which has its own allocator.
#pragma once

#include <cstddef>

namespace smelt {

// Keeps freed memory in the process from now on. Blocks of kLargeBlockBytes and more get an arena of
// their own, in huge pages if the system allows it. Call it before the plugin starts its threads.
void keep_freed_memory();
inline constexpr std::size_t kLargeBlockBytes = 32 << 20;

// Returns freed memory to the system if it is more than 64 MB. Call it between phases: when a
// program has been compiled, and when one is no longer needed.
void release_freed_memory();

// Bytes of large blocks that are allocated now; 0 before keep_freed_memory().
std::size_t large_block_bytes();

// Waits until no more than `limit` bytes of large blocks are allocated, at most 10 ms. The plugin
// frees a step's temporaries shortly after it reports the step's end: a step that starts before
// that doubles the peak. Returns the bytes allocated at the end.
std::size_t await_freed_blocks(std::size_t limit);

}  // namespace smelt
