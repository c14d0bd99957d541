// What a data set of labelled rows holds, before anything is trained on it.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "data/preprocess/labelled_rows.h"
#include "text/tokenizers/tokenizer_config.h"

namespace smelt {

struct RowOverviewJob {
  struct Split {
    std::string name;  // "train"
    LabelledFiles files;
  };
  std::vector<Split> splits;  // what is trained on first
  Problem problem = Problem::single_label;
  bool are_classes = true;  // false: labels are texts, to be answered with
  std::string vocab = {};   // empty: lengths are in words
  TokenizerFlags tokenizer = {};
  std::int64_t seq_length = 128;  // tokens that a text may have, special ones included
};

// Reads all rows once, and those that are shown a second time. Two texts are the same if they
// differ in white space and the case of ASCII letters alone. 24 bytes of memory a row.
//
// {"problem", "splits": [{"split", "rows", "left_out", "labels": {name: rows}, "different_labels",
//    "numbers" (a regression's): {"least", "mean", "largest"},
//    "lengths": {"unit", "median", "p90", "p99", "longest", "limit", "cut"}, "label_lengths" (of
//    texts), "unknown_tokens" (share), "same_text", "same_text_other_label",
//    "shared": [{"split", "rows", "other_label"}], "unknown_labels": {name: rows}}],
//  "findings": [sentence], "examples": [{"what", "text", "places": [2], "labels": [2]}]}
// A row of "shared" says how many of this split's rows stand in that earlier split.
OrderedJson row_overview(const RowOverviewJob& job);

// The same for people to read.
std::string overview_text(const OrderedJson& overview);

}  // namespace smelt
