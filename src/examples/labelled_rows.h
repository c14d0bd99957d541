// Rows of labelled texts from files of JSONL, TSV, CSV, Parquet, CoNLL and SQuAD.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "format/labels.h"
#include "text/rows.h"
#include "tokenize/text_pair.h"

namespace smelt {

struct LabelledFiles {
  std::string input;  // files or patterns, comma separated
  FileFormat format = FileFormat::by_name;
  std::string text = "text", pair = {}, label = "label";  // columns; an empty one is not read
  Header header = Header::names;                          // of tables
  std::string id = {};                                    // column that a row's may be in
  bool words = false;                                     // labels are of each word: see words_in()
  bool answers = false;      // labels are answers, as examples/questions.h reads them; a file named
                             // .json is SQuAD's
  bool needs_label = false;  // a row with an empty one is bad
  bool takes_empty = false;  // a row without text is a row
  TextLimits limits = {};
};

struct LabelledRow {
  std::string text, pair, label;  // the label as it is written
  std::string id = {};
};

// The rows of all files in their order. One without text is a bad row, as text/faults.h has them.
// UsageError for a file that is not there, or has no such columns.
class LabelledRows {
 public:
  // `what` names the setting in messages: "data.train".
  LabelledRows(const LabelledFiles& files, const std::string& what);
  // Likewise; but what is left out, another pass tells.
  static LabelledRows quiet(LabelledFiles files, const std::string& what);

  bool next(LabelledRow& row);
  std::string place() const;  // of the row: "train.tsv:17"
  std::uint64_t bad_rows() const { return faults_.bad_rows(); }

 private:
  bool open_next();

  LabelledFiles files_;
  std::vector<std::string> paths_;
  std::size_t next_ = 0;  // of paths_
  TextFaults faults_;
  std::unique_ptr<RowReader> reader_;
  std::vector<std::string> values_;
};

// What a label says of a text: numbers of classes, one of a single label; or a number.
class LabelReader {
 public:
  explicit LabelReader(Labels labels);

  // UsageError, which `place` begins, for a class that is unknown or no number.
  std::vector<std::int32_t> classes(const std::string& label, const std::string& place) const;
  float number(const std::string& label, const std::string& place) const;
  const Labels& labels() const { return labels_; }

 private:
  Labels labels_;
  std::map<std::string, std::int32_t, std::less<>> numbers_;
};

// Of several labels, which a comma stands between, each; of those of words, likewise with spaces;
// of a single one it.
std::vector<std::string> label_names(Problem problem, const std::string& label);

// How often each class stands in the files. UsageError for fewer than two, for numbers with
// fractions, which are no classes, and where nearly each row has its own.
std::map<std::string, std::uint64_t> count_labels(const LabelledFiles& files, Problem problem,
                                                  const std::string& what);

}  // namespace smelt
