// Records of labelled texts with the features of google-research/bert run_classifier.py: input_ids,
// input_mask, segment_ids, label_ids, is_real_example (docs/formats/tfrecord.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "examples/labelled_rows.h"
#include "tokenize/tokenizer_config.h"

namespace smelt {

// One of the two parts of rows: of each class its share is held out, at least one row where there
// are two and none where there is one; which, the seed says.
struct RowSplit {
  double heldout = 0.1;
  std::uint64_t seed = 12345;
  enum class Part { train, heldout } part = Part::train;
};

struct LabelledExamplesJob {
  LabelledFiles rows;
  std::string what = "data.train";  // names rows.input in messages
  std::optional<RowSplit> split = {};
  Labels labels;
  std::string vocab;  // word pieces
  TokenizerFlags tokenizer;
  std::int64_t seq_length = 128;
  std::string output;  // replaced if there
};

struct LabelledSummary {
  std::uint64_t examples = 0;
  std::uint64_t cut = 0;                  // whose tokens are more than seq_length
  std::uint64_t tokens = 0, unknown = 0;  // of what is left of them
  std::vector<std::uint64_t> of_class;
  std::vector<std::int64_t> lengths;  // few, for its batches (data/length_groups.h)
};

// Records in the order of the rows, the same for any number of threads, with their index and
// description. UsageError for rows that cannot be read, labels that are unknown, or no row at all.
LabelledSummary write_labelled_examples(const LabelledExamplesJob& job);

// The rows (by number) of such classes that are held out.
std::vector<bool> heldout_rows(const std::vector<std::int32_t>& classes, const RowSplit& split);

}  // namespace smelt
