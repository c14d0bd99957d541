// The host's memory beside a device.
#pragma once

#include <cstddef>
#include <memory>

namespace smelt {

// Freed memory stays in the process, in one heap: the CPU plugin asks for a step's temporaries anew
// each time, and what was given back to the system comes back a page at a time. To be called before
// other threads are started.
void keep_freed_memory();

// Memory for copies of what devices hold. It lies outside the heap, where such blocks would take
// the place that a step's temporaries had.
class CopyMemory {
 public:
  // Whether a block that is given back stays for the next of its size, or goes to the system.
  enum class After { kept, freed };
  struct GiveBack {
    std::size_t size = 0;
    After after = After::freed;
    void operator()(std::byte* block) const noexcept;
  };
  using Block = std::unique_ptr<std::byte[], GiveBack>;
  // Not filled. std::bad_alloc.
  static Block take(std::size_t size, After after);
};

}  // namespace smelt
