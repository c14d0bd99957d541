// Several files of examples and their indexes, written by threads that come in any order.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "base/progress.h"
#include "data/record_index_file.h"
#include "store/file.h"

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

// One file and its index, written in `ranges` pieces.
class Shard {
 public:
  Shard(const std::string& path, std::size_t ranges);

  // The file exists already, and is left as it is.
  bool is_whole() const { return whole_; }
  // Returns when all ranges before are written; false when the shard was stopped.
  bool wait(std::size_t range) { return turns_.wait(range); }
  void write(const EncodedExamples& examples);
  // The last range's makes the file appear.
  void leave(std::size_t range);
  void stop() { turns_.stop(); }

 private:
  const std::string& path_;
  std::size_t ranges_;
  bool whole_;
  Turnstile turns_;
  std::unique_ptr<OutputFile> file_;
  RecordIndexBuilder index_;
};

struct ShardRange {
  std::size_t shard, range;
};
// All ranges in the order in which they are written: of `lanes` shards at a time, one range of each
// after the other.
ShardRange range_at(std::size_t place, std::size_t shards, std::size_t ranges_of_each,
                    std::size_t lanes);

class ShardWriter {
 public:
  struct Turn {
    Shard* shard;
    std::size_t range_of_shard;
    std::size_t range;  // of all shards together
  };

  // `paths` must outlive the writer. Each takes `ranges_of_each`; `examples` in all are to come.
  ShardWriter(const std::vector<std::string>& paths, std::size_t ranges_of_each, std::size_t lanes,
              std::uint64_t examples);

  Turn at(std::size_t place);
  void count(std::size_t examples);
  void stop();

 private:
  std::size_t ranges_of_each_, lanes_;
  std::deque<Shard> shards_;
  std::mutex mutex_;
  std::int64_t done_ = 0;
  Progress progress_;
};

}  // namespace smelt
