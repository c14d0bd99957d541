// Writes several files of examples and their indexes. Threads encode the parts of a file in any
// order; they are written in file order.
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

namespace smelt::data {

// A run of encoded examples and their index.
struct EncodedExamples {
  std::string bytes;
  RecordIndexBuilder index;

  void clear() {
    bytes.clear();
    index.clear();
  }
};

// Identifies a file without reading all of it: its size and the checksum of its first and last
// bytes, which differ between files of different examples.
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
    std::string seal;  // file for the ShardSeal, written before the shard becomes visible
    bool index = true;
    std::function<void()> before;  // called before the index and the file become visible
  };

  Shard(Paths paths, std::size_t ranges, bool made);

  // Returns whether the file already exists and must not be written.
  bool is_made() const { return made_; }
  // Waits until all previous ranges are written. Returns false if the shard was stopped.
  bool wait(std::size_t range) { return turns_.wait(range); }
  void write(const EncodedExamples& examples);
  // Allows the next range to be written. After the last range, makes the file visible.
  void leave(std::size_t range);
  void stop() { turns_.stop(); }

 private:
  void finish();

  Paths paths_;
  std::size_t ranges_;
  bool made_;
  OrderedGate turns_;
  std::unique_ptr<io::OutputFile> file_;
  RecordIndexBuilder index_;
  ShardSeal seal_;
};

// Returns whether the file matches its seal.
bool is_sealed(const std::string& records, const std::string& seal);

struct ShardRange {
  std::size_t shard, range;
};
// Returns all ranges in the order in which to write them: `lanes` shards at a time, taking one
// range of each in turn.
std::vector<ShardRange> writing_order(const std::vector<std::size_t>& ranges_of_each,
                                      std::size_t lanes);

}  // namespace smelt::data
