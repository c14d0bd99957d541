// Records of texts and what is to be answered: `inputs` and `targets`, padded with zeros
// (docs/reference/formats/tfrecord.md).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/preprocess/row_records.h"

namespace smelt {

struct TextToTextExamplesJob {
  LabelledFiles rows;  // whose label is what is to be answered
  std::string what = "data.train";
  std::optional<RowSplit> split = {};
  std::string prefix;  // before each text
  // Ids of a text with their end.
  std::function<std::vector<std::int32_t>(std::string_view text)> encode;
  std::int64_t inputs_length = 512, targets_length = 114;
  std::int32_t unknown = -1;  // the id of what the vocabulary has no piece for
  std::string vocab;          // what the ids are of
  std::string output;         // replaced if there
  bool keeps_rows = false;    // also write the rows to rows_beside(output)
};

struct TextToTextSummary : RowCounts {  // cut: whose text or answer is longer
  std::uint64_t cut_targets = 0;
  // Rows that hold what the vocabulary has no piece for: in their text, in their answer.
  std::uint64_t unknown_texts = 0, unknown_targets = 0;
};

// As write_labelled_examples() has it. What is longer loses its end, but for the last id.
TextToTextSummary write_text_to_text(const TextToTextExamplesJob& job);

// The rows of these examples instead, as JSONL of text and label; how many there are.
std::uint64_t write_text_to_text_rows(const TextToTextExamplesJob& job);

}  // namespace smelt
