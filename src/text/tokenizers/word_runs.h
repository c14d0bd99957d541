// Stores word counts that do not fit in memory as sorted runs in a temporary file and merges them.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/filesystem/descriptor.h"

namespace smelt::text {

// The temporary file is in the system's folder for such files and is unlinked at once, so that it
// never remains.
class WordRuns {
 public:
  using Count = std::pair<std::string_view, std::int64_t>;
  using Visit = std::function<void(std::string_view word, std::int64_t count)>;

  // Adds a run of unique words sorted by their bytes. Thread-safe. Throws SystemError if the file
  // cannot be created or written.
  void add(const std::vector<Count>& sorted);
  bool empty() const { return runs_.empty(); }
  // Calls `visit` once for each word of all runs, sorted by its bytes, with the sum of its counts.
  // Buffers 64 kB of each run.
  void merge(const Visit& visit) const;

 private:
  struct Run {
    std::uint64_t begin = 0, end = 0;  // file offsets
  };
  class Reader;

  std::mutex mutex_;
  io::Descriptor file_;
  std::vector<Run> runs_;
};

}  // namespace smelt::text
