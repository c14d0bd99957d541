// Writes records of labelled texts with the features of google-research/bert run_classifier.py:
// input_ids, input_mask, segment_ids, label_ids, is_real_example
// (docs/reference/formats/tfrecord.md). For word labels, label_ids has seq_length values: the class
// number plus 1 at the first piece of each word, and 0 elsewhere.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/preprocess/row_records.h"
#include "text/tokenizers/tokenizer_config.h"

namespace smelt::data {

struct LabelledExamplesJob {
  LabelledFiles rows;
  std::string what = "data.train";  // name of rows.input in messages
  std::optional<RowSplit> split = {};
  bool both_orders = false;  // also write all pairs with the two texts swapped
  // For rerank, LabelledFiles::others are columns of documents that are not relevant. A row is then
  // one example with label 1 and one example with label 0 for each of these documents.
  io::Labels labels;
  std::string vocab;  // WordPiece vocabulary
  text::TokenizerFlags tokenizer;
  std::int64_t seq_length = 128;
  std::string output;       // overwritten
  bool keeps_rows = false;  // also write the rows to rows_beside(output)
};

struct LabelledSummary : RowCounts {  // `cut` counts rows with more than seq_length tokens
  // number of examples, or of words that were not truncated, per class
  std::vector<std::uint64_t> of_class;
  std::vector<std::int64_t> lengths;  // a few batch lengths (data/input_pipeline/length_groups.h)
  double mean_label = 0;              // for regression and rerank
};

// Writes one record per row (for rerank with further documents, one per document), in input order,
// and next to them the record index and a description (docs/reference/formats/description.md). The
// result does not depend on the number of threads. Throws UsageError if rows cannot be read, a
// label is unknown or out of range, or the files are empty. A split of rerank holds out all rows of
// a query together.
LabelledSummary write_labelled_examples(const LabelledExamplesJob& job);

// Writes the rows as JSONL with text, label and, if there is a second text, pair, instead of
// records. Returns the number of rows.
std::uint64_t write_labelled_rows(const LabelledExamplesJob& job);

}  // namespace smelt::data
