// Writes records of input and target texts: `inputs` and `targets`, padded with zeros
// (docs/reference/formats/tfrecord.md).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/preprocess/row_records.h"

namespace smelt::data {

struct TextToTextExamplesJob {
  LabelledFiles rows;  // the label column is the target text
  std::string what = "data.train";
  std::optional<RowSplit> split = {};
  std::string prefix;  // prepended to each text
  // Returns the ids of a text with an end of sequence.
  std::function<std::vector<std::int32_t>(std::string_view text)> encode;
  std::int64_t inputs_length = 512, targets_length = 114;
  std::int32_t unknown = -1;  // id of the unknown piece; -1: none
  std::string vocab;          // vocabulary of the ids
  std::string output;         // record file; overwritten
  bool keeps_rows = false;    // also write the rows to rows_beside(output)
};

struct TextToTextSummary : RowCounts {  // `cut` counts rows whose text or target was truncated
  std::uint64_t cut_targets = 0;
  // Rows that contain unknown tokens in their text or target.
  std::uint64_t unknown_texts = 0, unknown_targets = 0;
};

// Writes records like write_labelled_examples(). In texts that are too long, the ids before the
// last one (the end of sequence) are truncated.
TextToTextSummary write_text_to_text(const TextToTextExamplesJob& job);

// Writes the rows as JSONL with text and label instead of records. Returns the number of rows.
std::uint64_t write_text_to_text_rows(const TextToTextExamplesJob& job);

}  // namespace smelt::data
