// Rows of labelled texts from files of JSONL, TSV, CSV, Parquet, CoNLL and SQuAD.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/formats/labels.h"
#include "text/readers/rows.h"
#include "text/tokenizers/text_pair.h"

namespace smelt {

struct LabelledFiles {
  std::string input;  // files or patterns, comma separated
  FileFormat format = FileFormat::by_name;
  std::string text = "text", pair = {}, label = "label";  // columns; an empty one is not read
  Header header = Header::names;                          // of tables
  std::string id = {};                                    // column that a row's may be in
  bool words = false;                                     // labels are of each word: see words_in()
  bool lists = false;                                     // a label may be a JSON list of several
  bool answers = false;  // labels are answers, as data/preprocess/questions.h reads them; a file
                         // named .json is SQuAD's
  bool needs_label = false;             // a row with an empty one is bad
  std::vector<std::string> known = {};  // names of classes; empty: they are not known yet
  bool takes_empty = false;             // a row without text is a row
  TextLimits limits = {};
};

struct LabelledRow {
  // The label as it is written. "nan" and "NaN", which Python and pandas write for a missing value,
  // are an empty one if labels are classes or numbers, unless they are names of known classes.
  std::string text, pair, label;
  std::string id = {};
  // The text and the pair as the user wrote them; empty if they are the same as the composed ones.
  std::string written_text = {}, written_pair = {};

  const std::string& users_text() const { return written_text.empty() ? text : written_text; }
  const std::string& users_pair() const { return written_pair.empty() ? pair : written_pair; }
};

// Composes text and pair (Unicode NFC) and keeps what the user wrote in written_text and
// written_pair.
void compose_texts(LabelledRow& row);

// The rows of all files in their order. Texts and labels are composed (Unicode NFC), except if
// labels are answers, which have positions in the text. One without text is a bad row, as
// text/readers/bad_row_limit.h has them. UsageError for a file that is not there, or has no such
// columns.
class LabelledRows {
 public:
  // `what` names the setting in messages: "data.train".
  LabelledRows(const LabelledFiles& files, const std::string& what);
  // Likewise; but what is left out, another pass tells.
  static LabelledRows quiet(LabelledFiles files, const std::string& what);

  bool next(LabelledRow& row);
  std::string place() const;  // of the row: "train.tsv:17"
  std::uint64_t bad_rows() const { return faults_.bad_rows(); }
  // The labels so far that the files spell in several Unicode forms, which are one label.
  const std::set<std::string>& labels_of_two_forms() const { return two_forms_; }

 private:
  bool open_next();
  void compose(LabelledRow& row);
  void warn_of_label_forms() const;

  LabelledFiles files_;
  std::vector<std::string> paths_;
  std::size_t next_ = 0;  // of paths_
  TextFaults faults_;
  std::optional<EncodingCheck> encoding_;  // of the file that is open
  std::unique_ptr<RowReader> reader_;
  std::vector<std::string> values_;
  // How each composed label that is not ASCII stood in the files first; of a limited number.
  std::map<std::string, std::string> label_forms_;
  std::set<std::string> two_forms_;  // those that stood otherwise, too
};

// What a label says of a text: numbers of classes, one of a single label; or a number.
class LabelReader {
 public:
  // Composes the names (Unicode NFC). If two names become equal, rows get the class of the first.
  explicit LabelReader(Labels labels);

  // UsageError, which `place` begins, for a class that is unknown or no number.
  std::vector<std::int32_t> classes(const std::string& label, const std::string& place) const;
  float number(const std::string& label, const std::string& place) const;
  const Labels& labels() const { return labels_; }

 private:
  Labels labels_;
  std::map<std::string, std::int32_t, std::less<>> numbers_;
};

// The number that a label is: "3", "+1.5", ".5", "1e-3"; nullopt if it is none, or not finite.
std::optional<double> label_number(std::string_view label);

// Returns the classes of a label: of multi_label those that class_names_in() reads, of token_labels
// those between spaces, of a single label the label itself.
std::vector<std::string> label_names(Problem problem, const std::string& label,
                                     std::span<const std::string> known = {});

// How often each class stands in the files. UsageError for fewer than two, for numbers with
// fractions, which are no classes, and where nearly each row has its own.
std::map<std::string, std::uint64_t> count_labels(const LabelledFiles& files, Problem problem,
                                                  const std::string& what);

}  // namespace smelt
