// Several files of examples and their indexes, written by threads that come in any order.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/parallel.h"
#include "base/progress.h"
#include "data/input_pipeline/record_index_file.h"
#include "data/preprocess/example_files.h"
#include "io/filesystem/file.h"

namespace smelt {

// Encoded examples that follow one another, and their index.
struct EncodedExamples {
  std::string bytes;
  RecordIndexBuilder index;

  void clear() {
    bytes.clear();
    index.clear();
  }
};

// By what a file is known again without reading all of it: its size, and the checksum of its first
// and its last bytes, in which examples differ from those of any other file.
class ShardSeal {
 public:
  void add(std::string_view bytes);
  std::string text() const;

 private:
  std::string first_, last_;
  std::uint64_t size_ = 0;
};

// One file and its index, written in `ranges` pieces.
class Shard {
 public:
  struct Paths {
    std::string records;
    std::string seal;  // of the whole file (ShardSeal), written before it appears
    bool index = true;
    std::function<void()> before;  // is called before the index and the file appear
  };

  Shard(Paths paths, std::size_t ranges, bool made);

  // The file exists already, and is left as it is.
  bool is_made() const { return made_; }
  // Returns when all ranges before are written; false when the shard was stopped.
  bool wait(std::size_t range) { return turns_.wait(range); }
  void write(const EncodedExamples& examples);
  // The last range's makes the file appear.
  void leave(std::size_t range);
  void stop() { turns_.stop(); }

 private:
  void finish();

  Paths paths_;
  std::size_t ranges_;
  bool made_;
  Turnstile turns_;
  std::unique_ptr<OutputFile> file_;
  RecordIndexBuilder index_;
  ShardSeal seal_;
};

// Whether the file is the one that was sealed.
bool is_sealed(const std::string& records, const std::string& seal);

struct ShardRange {
  std::size_t shard, range;
};
// All ranges in the order in which they are written: of `lanes` shards at a time, one range of each
// after the other.
std::vector<ShardRange> writing_order(const std::vector<std::size_t>& ranges_of_each,
                                      std::size_t lanes);

}  // namespace smelt
