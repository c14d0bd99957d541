// What the shuffled order holds at a time. With `memory` bytes, of which a quarter are `buffers`,
// it takes, whatever the size of the corpus and the number of threads:
//   reading   buffers for chunks, and as much for batches of text on their way
//   drawing   buffers, and a group: its bytes from the disk and twice as many as a corpus
//   cutting   buffers
//   writing   memory: for each thread a range, its list, and what is encoded of it
// Beside it stand 64 bytes a range (thrice that at the end of a pass) and 3 bytes an example of
// each file that is being written: for a terabyte of text (250 billion tokens, ten passes, 5 TB of
// examples on the disk) in 1000 files 40 MB for 600 thousand ranges and 60 MB for the index of a
// file. A document of millions of tokens, and what the builder counts in each thread (BERT's: 8
// bytes a piece of the vocabulary), come on top.
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
  std::uint64_t range_bytes = std::uint64_t{16} << 20;  // of examples that are sorted at once
  std::size_t encoded_bytes = std::size_t{16} << 20;    // before a thread waits to write them
  std::size_t batch_bytes = 1 << 20;                    // of text that a thread tokenizes at once
  std::size_t least_chunk = 16 << 10, most_chunk = 64 << 10;  // of a range, written at once
  // What --memory must be at least: half of it for all that is not counted.
  std::size_t least_memory = std::size_t{256} << 20;
};

struct ShuffleOptions {
  std::string folder;  // local, for the spill files
  std::uint64_t seed = 0;
  int threads = 1;
  std::size_t memory = 0;              // bytes, beside one group of documents
  std::uint64_t longest_sentence = 0;  // ExampleBuilder::longest_sentence()
  ShuffleSizes sizes;

  std::size_t buffers() const { return memory / 4; }  // of a stage that scatters
};

}  // namespace smelt
