// Batches of BERT pre-training examples from TFRecord files (docs/formats/tfrecord.md). A batch is
// a pure function of the files, the seed and the step: to resume, ask for the next step.
#pragma once

#include <cstdint>
#include <vector>

#include "data/bert_batch.h"
#include "data/record_blocks.h"
#include "data/record_index.h"
#include "data/record_order.h"

namespace smelt {

// The part of each batch that one of several hosts trains on: an equal run of rows. Together, in
// the hosts' order, they are the batch of one host.
struct HostShare {
  std::int64_t host = 0, hosts = 1;
};

// Thread-safe. Every fault of a file is a UsageError naming the file and record or offset.
class BertRecordSource {
 public:
  // Indexes the files and checks the first record of each.
  explicit BertRecordSource(BertRecordOptions options);

  std::uint64_t size() const { return index_.size(); }  // records

  // Training: the endless sequence of epochs, each a fresh shuffle of all records
  // (data/record_order.h), cut into batches. No record is dropped: a batch may hold the end of one
  // epoch and the beginning of the next. The order does not depend on how many hosts share a batch;
  // UsageError when they cannot share it equally.
  BertBatch batch(std::uint64_t step, std::int64_t batch_size, HostShare share = {}) const;

  // Evaluation: records in file order, from the first again after the last (the original repeats
  // too).
  BertBatch batch_in_order(std::uint64_t step, std::int64_t batch_size, HostShare share = {}) const;
  // How many whole batches one pass holds; a remainder is left out, as in the original.
  std::uint64_t whole_batches(std::int64_t batch_size) const {
    return size() / static_cast<std::uint64_t>(batch_size);
  }

  // Tokens of each record, padding not counted: what bucketing by length and packing need to know.
  // From the files' indexes; a file without one is read.
  std::vector<std::uint32_t> lengths() const;

  const BertRecordOptions& options() const { return options_; }
  const RecordIndex& index() const { return index_; }

 private:
  BertRecordOptions options_;
  RecordIndex index_;
  RecordOrder order_;
  mutable RecordBlocks blocks_;
};

// Reads a whole file of BERT examples, checks all of it and writes its index
// (data/record_index_file.h). UsageError for the first fault. Returns the number of records.
std::uint64_t index_bert_records(const std::string& file);

}  // namespace smelt
