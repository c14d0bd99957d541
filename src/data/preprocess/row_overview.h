// Summarizes a data set of labelled rows before training on it.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "data/preprocess/labelled_rows.h"
#include "text/tokenizers/tokenizer_config.h"

namespace smelt::data {

struct RowOverviewJob {
  struct Split {
    std::string name;  // "train"
    LabelledFiles files;
  };
  std::vector<Split> splits;  // the training split first
  io::Problem problem = io::Problem::single_label;
  bool are_classes = true;  // false: labels are texts to generate
  std::string vocab = {};   // empty: lengths are in words
  text::TokenizerFlags tokenizer = {};
  std::int64_t seq_length = 128;  // maximum tokens of a text, special ones included
};

// Reads all rows once, and the rows to show as examples again. Two texts are the same if they
// differ only in white space and the case of ASCII letters. Needs 24 bytes of memory per row.
// Returns
//
// {"problem", "splits": [{"split", "rows", "left_out", "labels": {name: rows}, "different_labels",
//    "numbers" (for regression): {"least", "mean", "largest"},
//    "lengths": {"unit", "median", "p90", "p99", "longest", "limit", "cut"}, "label_lengths" (if
//    labels are texts), "unknown_tokens" (share), "same_text", "same_text_other_label", "shared":
//    [{"split", "rows", "other_label"}], "unknown_labels": {name: rows}}],
//  "findings": [sentence], "examples": [{"what", "text", "places": [2], "labels": [2]}]}
//
// An entry of "shared" counts this split's rows that also occur in that earlier split.
OrderedJson row_overview(const RowOverviewJob& job);

// Formats the overview as text.
std::string overview_text(const OrderedJson& overview);

}  // namespace smelt::data
