// Writes records of texts to embed: an anchor, a positive and negatives, or two texts and a score.
// Features: input_ids, input_mask [texts,seq_length]; tokens [seq_length]; text_keys [texts];
// score; is_real_example (docs/reference/formats/tfrecord.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "data/preprocess/row_records.h"
#include "text/tokenizers/tokenizer_config.h"

namespace smelt::data {

struct EmbeddingExamplesJob {
  // text is the anchor, pair the positive, others the negatives and label the score.
  LabelledFiles rows;
  std::string what = "data.train";  // name of rows.input in messages
  std::optional<RowSplit> split = {};
  std::int64_t texts = 2;  // per example; further negatives of a row are not used
  // Scores are divided by this number, and must then be in [-1, 1].
  double max_score = 1;
  std::string vocab;
  text::TokenizerFlags tokenizer;
  std::int64_t seq_length = 128;
  std::string output;       // overwritten
  bool keeps_rows = false;  // also write the rows to rows_beside(output)
};

struct EmbeddingSummary : RowCounts {  // `cut` counts rows with a text longer than seq_length
  std::vector<std::int64_t> lengths;   // a few batch lengths (data/input_pipeline/length_groups.h)
  std::uint64_t repeated = 0;          // rows whose positive is also that of an earlier row
  std::uint64_t negatives = 0;         // negatives in all examples
};

// Writes one record per row, in input order, and next to them the record index and a description.
// Throws UsageError if rows cannot be read, a score is not a number in range, or there is no row.
EmbeddingSummary write_embedding_examples(const EmbeddingExamplesJob& job);

// Returns the texts of a value of LabelledRow::others: the items of a JSON list of strings, or the
// value itself. Empty texts are left out.
std::vector<std::string> texts_in(const std::string& value);

}  // namespace smelt::data
