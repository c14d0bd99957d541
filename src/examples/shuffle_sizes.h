// What the shuffled order holds at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace smelt {

// The first three decide which examples come out; the others do not.
struct ShuffleSizes {
  // Of the documents in memory at once, as they lie on the disk; what is drawn beside a document
  // comes from there. About 17 million tokens of a vocabulary of at most 65536.
  std::uint64_t group_bytes = std::uint64_t{40} << 20;
  std::size_t document_ranges = 1024;  // over which documents are scattered at first
  std::size_t fan_out = 256;           // ranges that one which is too large is cut into, at most
  std::uint64_t range_bytes = std::uint64_t{16} << 20;        // of examples that are sorted at once
  std::size_t encoded_bytes = std::size_t{16} << 20;          // before a thread waits to write them
  std::size_t least_chunk = 16 << 10, most_chunk = 64 << 10;  // of a range, written at once
};

struct ShuffleOptions {
  std::string folder;  // local, for the spill files
  std::uint64_t seed = 0;
  int threads = 1;
  std::size_t memory = 0;  // bytes, beside one group of documents
  ShuffleSizes sizes;

  std::size_t buffers() const { return memory / 4; }  // of a stage that scatters
};

}  // namespace smelt
