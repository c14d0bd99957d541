// Reads rows of labelled texts from JSONL, TSV, CSV, Parquet, CoNLL and SQuAD files.
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

namespace smelt::data {

struct LabelledFiles {
  std::string input;  // comma-separated files or patterns
  text::FileFormat format = text::FileFormat::by_name;
  std::string text = "text", pair = {}, label = "label";  // column names; empty: do not read
  text::Header header = text::Header::names;              // first line of TSV and CSV files
  std::string id = {};                                    // optional column with the row's id
  bool words = false;                                     // labels are per word: see words_in()
  bool lists = false;  // a label may be a JSON list of several labels
  // labels are answers, as read by data/preprocess/questions.h; a file named .json is SQuAD
  bool answers = false;
  bool needs_label = false;              // a row with an empty label is bad
  bool needs_pair = false;               // a row with an empty second text is bad
  std::vector<std::string> others = {};  // columns of further texts, or JSON lists of texts
  std::vector<std::string> known = {};   // class names; empty: not known yet
  bool takes_empty = false;              // accept rows with an empty text
  text::TextLimits limits = {};
};

struct LabelledRow {
  // The label as written in the file. If labels are classes or numbers, "nan" and "NaN", which
  // Python and pandas write for missing values, become an empty label, unless they are names of
  // known classes.
  std::string text, pair, label;
  std::string id = {};
  std::vector<std::string> others = {};  // the values of LabelledFiles::others
  // The text and pair as the user wrote them; empty if equal to the normalized ones.
  std::string written_text = {}, written_pair = {};

  const std::string& users_text() const { return written_text.empty() ? text : written_text; }
  const std::string& users_pair() const { return written_pair.empty() ? pair : written_pair; }
};

// Normalizes text and pair to NFC. Keeps the originals in written_text and written_pair.
void compose_texts(LabelledRow& row);

// Reads the rows of all files in order. Texts and labels are normalized to NFC, unless labels are
// answers, which have positions in the text. A row without text is a bad row
// (text/readers/bad_row_limit.h). Throws UsageError if a file is missing or lacks the columns.
class LabelledRows {
 public:
  // `what` is the name of the setting in messages: "data.train".
  LabelledRows(const LabelledFiles& files, const std::string& what);
  // Returns a reader that logs no warnings about skipped rows, for data that another pass reads
  // too.
  static LabelledRows quiet(LabelledFiles files, const std::string& what);

  bool next(LabelledRow& row);
  std::string place() const;  // place of the row: "train.tsv:17"
  std::uint64_t bad_rows() const { return faults_.bad_rows(); }
  // Returns the labels so far that occur in several Unicode forms and are treated as one label.
  const std::set<std::string>& labels_of_two_forms() const { return two_forms_; }

 private:
  bool open_next();
  void compose(LabelledRow& row);
  void warn_of_label_forms() const;

  LabelledFiles files_;
  std::vector<std::string> paths_;
  std::size_t next_ = 0;  // index into paths_
  text::TextFaults faults_;
  std::optional<text::EncodingCheck> encoding_;  // for the open file
  std::unique_ptr<text::RowReader> reader_;
  std::vector<std::string> values_;
  // Maps each normalized label that is not ASCII to its first spelling; limited in size.
  std::map<std::string, std::string> label_forms_;
  std::set<std::string> two_forms_;  // labels with different spellings
};

// Parses labels: one or more class numbers, or a number for regression.
class LabelReader {
 public:
  // Normalizes the class names to NFC. If two names become equal, rows get the first class.
  explicit LabelReader(io::Labels labels);

  // Throws UsageError, beginning with `place`, if a class is unknown or the label is not a number.
  std::vector<std::int32_t> classes(const std::string& label, const std::string& place) const;
  float number(const std::string& label, const std::string& place) const;
  const io::Labels& labels() const { return labels_; }

 private:
  io::Labels labels_;
  std::map<std::string, std::int32_t, std::less<>> numbers_;
};

// Returns the value of a number such as "3", "+1.5", ".5" or "1e-3"; nullopt if the text is not a
// finite number.
std::optional<double> label_number(std::string_view label);

// Returns the classes of a label: those that class_names_in() reads for multi_label, the words for
// token_labels, the label itself for a single label.
std::vector<std::string> label_names(io::Problem problem, const std::string& label,
                                     std::span<const std::string> known = {});

// Counts the rows of each class. Throws UsageError if there are fewer than two classes, labels are
// fractional numbers, or nearly every row has a different label.
std::map<std::string, std::uint64_t> count_labels(const LabelledFiles& files, io::Problem problem,
                                                  const std::string& what);

}  // namespace smelt::data
