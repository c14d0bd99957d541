// Distributes examples over files round-robin and keeps their order. They are stored in one local
// file until they are encoded, so that any number of output files can be written one after another.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/preprocess/external_shuffle.h"
#include "data/preprocess/shuffle_sizes.h"

namespace smelt::data {

class InTurn {
 public:
  InTurn(std::size_t files, const ShuffleOptions& options);

  void append(std::string_view example);
  std::uint64_t examples() const { return count_; }
  // Returns key ranges for write_shards(), each about as large as the sizes specify.
  ExternalShuffle finish();

 private:
  void begin_ranges();
  void end_ranges();

  ShuffleSizes sizes_;
  std::size_t chunk_bytes_;
  std::vector<std::uint64_t> first_keys_;  // per file
  SpillFile file_;
  std::unique_ptr<SpillWriter> writer_;  // writes the current range of each file
  std::vector<SpillRange> ranges_;
  std::uint64_t count_ = 0, bytes_ = 0;  // bytes: in the current ranges
};

}  // namespace smelt::data
