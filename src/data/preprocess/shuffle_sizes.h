// Sizes that bound the memory of the shuffled order. `memory` and `buffers` are those of
// ShuffleOptions. Regardless of the corpus size and the number of threads, each stage needs:
//   reading    `buffers` for chunks, and as much again for the text being tokenized
//   drawing    `buffers`, and a group of documents: its bytes on disk, and twice as many for the
//              TokenCorpus made of them
//   splitting  `buffers`
//   writing    `memory`, shared by the threads: each holds a range, the list of its examples, and
//              the examples that it has encoded
// In addition, every range needs 64 bytes (three times that at the end of a splitting pass), and
// every example of a file being written needs 3 bytes. For a terabyte of text (250 billion tokens,
// ten passes, 5 TB of examples on disk) in 1000 files these are 40 MB for 600 thousand ranges and
// 60 MB for a file's index. Documents of millions of tokens and the builder's counts per thread
// (BERT: 8 bytes per vocabulary entry) are not included.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace smelt::data {

// The first three fields determine the examples; the others do not.
struct ShuffleSizes {
  // Size on disk of the documents held in memory at once, from which a document's random partners
  // are drawn. About 17 million tokens if the vocabulary has at most 65536 entries.
  std::uint64_t group_bytes = std::uint64_t{40} << 20;
  std::size_t document_ranges = 1024;  // number of ranges that documents are first distributed over
  std::size_t fan_out = 256;           // maximum number of parts that a large range is split into
  std::uint64_t range_bytes = std::uint64_t{16} << 20;  // examples that are sorted at once
  // bytes that a thread encodes before it waits to write them
  std::size_t encoded_bytes = std::size_t{16} << 20;
  std::size_t batch_bytes = 1 << 20;  // text that a thread tokenizes at once
  std::size_t least_chunk = 16 << 10, most_chunk = 64 << 10;  // limits of one write to a range
  // Minimum of --memory. Half of it is reserved for memory that these sizes do not count.
  std::size_t least_memory = std::size_t{256} << 20;
};

struct ShuffleOptions {
  std::string folder;  // local folder for the spill files
  std::uint64_t seed = 0;
  int threads = 1;
  std::size_t memory = 0;              // bytes for everything except one group of documents
  std::uint64_t longest_sentence = 0;  // ExampleBuilder::longest_sentence()
  ShuffleSizes sizes;

  std::size_t buffers() const { return memory / 4; }  // write buffers of a stage
};

}  // namespace smelt::data
