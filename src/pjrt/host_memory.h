// Memory management of this process while the CPU plugin runs programs in it.
//
// The plugin allocates a step's temporaries with malloc and frees them when the step ends. malloc
// is jemalloc's, which would return large blocks to the system at once: faulting their pages in
// again takes 15 to 45 % of a step (docs/explanation/performance.md). Here freed memory is kept,
// and returned at the points where a program no longer needs it.
//
// These functions never fail. In sanitizer builds they do nothing. If jemalloc lacks a setting, or
// MALLOC_CONF overrides one, the allocator's own behaviour applies.
#pragma once

#include <chrono>
#include <cstddef>
#include <mutex>

namespace smelt::pjrt {

// Keeps freed memory in the process from now on. Blocks of kLargeBlockBytes and more get a separate
// arena, with huge pages if the system allows it, so that smaller blocks do not split them. Call it
// before the plugin starts its threads.
void keep_freed_memory() noexcept;
inline constexpr std::size_t kLargeBlockBytes = 32 << 20;

// Returns freed memory to the system if it is more than 64 MB. Call it between phases: when a
// program has been compiled, and when one is no longer needed.
void release_freed_memory() noexcept;

// Bytes of large blocks that are allocated now; 0 if they are not counted.
std::size_t large_block_bytes() noexcept;

// Waits until no more than `limit` bytes of large blocks are allocated, at most for `patience`.
// Returns the bytes allocated at the end.
std::size_t await_freed_blocks(std::size_t limit, std::chrono::milliseconds patience) noexcept;

// Waits between two executions until the first one's temporaries are freed. The plugin frees them
// shortly after it reports the execution's end. If the next execution started before that, the peak
// memory would be twice as high.
class TemporariesGuard {
 public:
  // Call it before an execution, when the one before has ended. Waits at most 10 ms. After every
  // third wait that times out, the large blocks that are still allocated, such as results, are
  // accepted: later calls do not wait for that many bytes.
  void await_freed() noexcept;

 private:
  std::mutex mutex_;
  bool begun_ = false;
  std::size_t limit_ = 0;     // bytes of large blocks before the latest execution
  std::size_t accepted_ = 0;  // bytes that await_freed() no longer waits for
  int timeouts_ = 0;
};

}  // namespace smelt::pjrt
