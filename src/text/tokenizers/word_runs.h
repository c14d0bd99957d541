// Counts of words beyond what memory holds: sorted runs in a temporary file, which are merged.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/filesystem/descriptor.h"

namespace smelt {

// The file has no name, so that nothing of it remains; it lies in the system's folder for temporary
// files.
class WordRuns {
 public:
  using Count = std::pair<std::string_view, std::int64_t>;
  using Visit = std::function<void(std::string_view word, std::int64_t count)>;

  // Sorted by their bytes, each word once. Safe to call from several threads. SystemError when the
  // file cannot be made or written.
  void add(const std::vector<Count>& sorted);
  bool empty() const { return runs_.empty(); }
  // Each word of all runs once, sorted by its bytes, with the sum of its counts. 64 kB of each run
  // are in memory.
  void merge(const Visit& visit) const;

 private:
  struct Run {
    std::uint64_t begin = 0, end = 0;  // in the file
  };
  class Reader;

  std::mutex mutex_;
  Descriptor file_;
  std::vector<Run> runs_;
};

}  // namespace smelt
