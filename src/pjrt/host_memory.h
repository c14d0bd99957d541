// Memory management of this process while the CPU plugin runs programs in it.
//
// The plugin allocates a step's temporaries with malloc and frees them when the step ends. By
// default the allocator, jemalloc, returns large blocks to the system at once, and faulting their
// pages in again takes 15 to 45 % of a step (docs/explanation/performance-history.md). These
// functions keep freed memory in the process and return it after compilations and when a program is
// destroyed.
//
// The functions never fail. In sanitizer builds they do nothing. If jemalloc lacks a setting, or
// MALLOC_CONF overrides one, jemalloc's default behaviour applies.
#pragma once

#include <chrono>
#include <cstddef>
#include <mutex>

namespace smelt::pjrt {

// Keeps freed memory in the process from now on. Blocks of kLargeBlockBytes and more get a separate
// arena, with huge pages if the system allows it, so that smaller blocks do not fragment it. Must
// be called before the plugin starts its threads.
void keep_freed_memory() noexcept;
inline constexpr std::size_t kLargeBlockBytes = 32 << 20;

// Returns freed memory to the system if it is more than 64 MB. Call it between phases: when a
// program has been compiled, and when one is no longer needed.
void release_freed_memory() noexcept;

// Returns the bytes of large blocks (at least kLargeBlockBytes) that are allocated now, or 0 if
// keep_freed_memory() is not in effect.
std::size_t large_block_bytes() noexcept;

// Waits until no more than `limit` bytes of large blocks are allocated, at most for `patience`.
// Returns the bytes allocated at the end.
std::size_t await_freed_blocks(std::size_t limit, std::chrono::milliseconds patience) noexcept;

// Waits between two executions until the first one's temporaries are freed. The plugin frees them
// shortly after it reports the execution's end. If the next execution started before that, the peak
// memory would be twice as high.
class TemporariesGuard {
 public:
  // Waits at most 10 ms until the large blocks take no more memory than before the latest
  // execution. Must be called before each execution, after the previous one has ended. Every third
  // timeout raises the limit for later calls to the bytes that are still allocated, because these
  // may be results, which stay.
  void await_freed() noexcept;

 private:
  std::mutex mutex_;
  bool begun_ = false;
  std::size_t limit_ = 0;     // bytes of large blocks before the latest execution
  std::size_t accepted_ = 0;  // lower bound of the limit, set after timeouts
  int timeouts_ = 0;
};

}  // namespace smelt::pjrt
