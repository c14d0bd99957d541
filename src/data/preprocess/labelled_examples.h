// Records of labelled texts with the features of google-research/bert run_classifier.py: input_ids,
// input_mask, segment_ids, label_ids, is_real_example (docs/reference/formats/tfrecord.md). Of
// labels of words label_ids are [seq_length]: the class's number from 1 on at each word's first
// piece, else 0.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/preprocess/row_records.h"
#include "text/tokenizers/tokenizer_config.h"

namespace smelt {

struct LabelledExamplesJob {
  LabelledFiles rows;
  std::string what = "data.train";  // names rows.input in messages
  std::optional<RowSplit> split = {};
  bool both_orders = false;  // then all pairs once more, the second text first
  Labels labels;
  std::string vocab;  // word pieces
  TokenizerFlags tokenizer;
  std::int64_t seq_length = 128;
  std::string output;       // replaced if there
  bool keeps_rows = false;  // also write the rows to rows_beside(output)
};

struct LabelledSummary : RowCounts {    // cut: whose tokens are more than seq_length
  std::vector<std::uint64_t> of_class;  // of words those that are not cut off
  std::vector<std::int64_t> lengths;  // few, for its batches (data/input_pipeline/length_groups.h)
  double mean_label = 0;              // of a regression
};

// Records in the order of the rows, the same for any number of threads, with their index and
// description. UsageError for rows that cannot be read, labels that are unknown, or no row at all.
LabelledSummary write_labelled_examples(const LabelledExamplesJob& job);

// The rows of these examples instead, as JSONL of text, label and, where there is a second text,
// pair; how many there are.
std::uint64_t write_labelled_rows(const LabelledExamplesJob& job);

}  // namespace smelt
