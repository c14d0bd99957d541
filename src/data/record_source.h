// Batches of BERT pre-training examples from TFRecord files (docs/formats/tfrecord.md). A batch is a pure
// function of the files, the seed and the step: to resume, ask for the next step.
#pragma once

#include <cstdint>
#include <future>
#include <string>
#include <vector>

#include "data/record_index.h"

namespace smelt {

// Row-major. L = seq_length, P = max_predictions; the features as docs/formats/tfrecord.md has them.
struct BertBatch {
  std::int64_t batch = 0, seq_length = 0, max_predictions = 0;
  std::vector<std::int32_t> input_ids, input_mask, segment_ids;  // [batch, L]
  std::vector<std::int32_t> masked_lm_positions, masked_lm_ids;  // [batch, P]
  std::vector<float> masked_lm_weights;                          // [batch, P]
  std::vector<std::int32_t> next_sentence_labels;                // [batch]
};

struct BertRecordOptions {
  std::string input;                 // comma list of files and patterns
  std::int64_t seq_length = 128;     // of the records; another one is refused
  std::int64_t max_predictions = 20;
  std::int64_t vocab_size = 30522;   // ids beyond are refused
  std::int64_t type_vocab_size = 2;
  std::uint64_t seed = 12345;        // of the shuffle
};

// Lengths of the examples in the files, read from the first record.
struct BertRecordShape {
  std::int64_t seq_length = 0, max_predictions = 0;
};
BertRecordShape bert_record_shape(const RecordIndex& index);

// One record, checked against the options, appended to the batch.
void append_bert_record(const RecordIndex& index, std::uint64_t record,
                        const BertRecordOptions& options, BertBatch& batch);

// Thread-safe. Every fault of a file is a UsageError naming the file and record or offset.
class BertRecordSource {
 public:
  // Indexes the files and checks the first record of each.
  explicit BertRecordSource(BertRecordOptions options);

  std::uint64_t size() const { return index_.size(); }  // records

  // Training: the endless sequence of epochs, each a fresh permutation of all records, cut into batches.
  // No record is dropped: a batch may hold the end of one epoch and the beginning of the next.
  BertBatch batch(std::uint64_t step, std::int64_t batch_size) const;

  // Evaluation: records in file order, from the first again after the last (the original repeats too).
  BertBatch batch_in_order(std::uint64_t step, std::int64_t batch_size) const;
  // How many whole batches one pass holds; a remainder is left out, as in the original.
  std::uint64_t whole_batches(std::int64_t batch_size) const {
    return size() / static_cast<std::uint64_t>(batch_size);
  }

  const BertRecordOptions& options() const { return options_; }

 private:
  BertBatch empty_batch(std::int64_t batch_size) const;

  BertRecordOptions options_;
  RecordIndex index_;
  std::uint64_t key_;
};

// The batches of consecutive steps, the next one being read on another thread meanwhile. The source must
// outlive it.
class BertPrefetch {
 public:
  BertPrefetch(const BertRecordSource& source, std::int64_t batch_size, std::uint64_t first_step);
  BertPrefetch(const BertPrefetch&) = delete;
  BertPrefetch& operator=(const BertPrefetch&) = delete;
  BertBatch next();

 private:
  void start();

  const BertRecordSource& source_;
  std::int64_t batch_size_;
  std::uint64_t step_;
  std::future<BertBatch> pending_;
};

}  // namespace smelt
