// Batches of the records of TFRecord files (docs/formats/tfrecord.md). A batch is a pure function
// of the files, the seed and the step: to resume, ask for the next step.
#pragma once

#include <cstdint>
#include <string>

#include "data/batch.h"
#include "data/record_blocks.h"
#include "data/record_index.h"
#include "data/record_order.h"

namespace smelt {

struct RecordOptions {
  std::string input;           // comma list of files and patterns
  Features features;           // that every record has, at most kMostSlots; others are left aside
  std::uint64_t seed = 12345;  // of the shuffle
};

// The part of each batch that one of several hosts trains on: an equal run of rows. Together, in
// the hosts' order, they are the batch of one host.
struct HostShare {
  std::int64_t host = 0, hosts = 1;
};

// Thread-safe. Every fault of a file is a UsageError naming the file and record or offset.
class RecordSource {
 public:
  // Indexes the files and checks the first record of each.
  explicit RecordSource(RecordOptions options);

  std::uint64_t size() const { return index_.size(); }  // records

  // Training: the endless sequence of epochs, each a fresh shuffle of all records, cut into batches
  // (data/record_order.h). No record is dropped: a batch may hold the end of one epoch and the
  // beginning of the next. The order does not depend on how many hosts share a batch; each of 2, 4,
  // 8 or 16 reads only its own part of many records. UsageError when they cannot share it equally.
  Batch batch(std::uint64_t step, std::int64_t batch_size, HostShare share = {}) const;

  // Evaluation: records in file order, from the first again after the last (the original repeats
  // too).
  Batch batch_in_order(std::uint64_t step, std::int64_t batch_size, HostShare share = {}) const;
  // How many whole batches one pass holds; a remainder is left out, as in the original.
  std::uint64_t whole_batches(std::int64_t batch_size) const;

  const RecordOptions& options() const { return options_; }
  const RecordIndex& index() const { return index_; }

 private:
  RecordOptions options_;
  RecordIndex index_;
  RecordOrder order_;
  mutable RecordBlocks blocks_;
};

}  // namespace smelt
