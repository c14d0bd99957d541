#include "text/readers/conll_rows.h"

#include <charconv>
#include <deque>
#include <optional>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/plural.h"
#include "text/readers/lines.h"

namespace smelt::text {
namespace {

constexpr std::int64_t kMostWords = 100000;
constexpr std::size_t kMostHeld = 1000;     // maximum size of held_
constexpr std::size_t kMostLabels = 10000;  // maximum number of labels to remember
// Column 1 is rejected if its first cells in a sentence are the numbers 1 to kNumbered.
constexpr std::int64_t kNumbered = 3;

std::optional<std::size_t> column_number(const std::string& name) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size() || number == 0) return std::nullopt;
  return number;
}

// Splits a line at tabs, or at spaces if it has no tab.
std::vector<std::string_view> columns_of(std::string_view line) {
  std::vector<std::string_view> cells;
  const char between = line.find('\t') != std::string_view::npos ? '\t' : ' ';
  for (const std::string_view cell : smelt::split(line, between))
    if (!trim(cell).empty()) cells.push_back(trim(cell));
  return cells;
}

// The format of the lines that contain words: separator and number of columns.
struct Form {
  std::size_t columns = 0;
  bool has_tabs = false;
};

Form form_of(std::string_view line) {
  return {.columns = columns_of(line).size(), .has_tabs = line.find('\t') != line.npos};
}

// Returns whether a line that begins with "# " has this format and is not a comment such as "# text
// = a b" or "# id 7 domain=en".
bool has_form(std::string_view line, const Form& form) {
  return !form.has_tabs && columns_of(line).size() == form.columns &&
         line.find('=') == std::string_view::npos;
}

// Returns whether a cell is a word number as in the first column of CoNLL-U: "3", "3-4" (a token of
// several words) or "3.1" (a word that is not in the text).
bool is_count(std::string_view cell) {
  return !cell.empty() && cell.find_first_not_of("0123456789") == cell.npos;
}
bool is_no_word(std::string_view cell) {
  const std::size_t between = cell.find_first_of("-.");
  return between != cell.npos && is_count(cell.substr(0, between)) &&
         is_count(cell.substr(between + 1));
}

// Returns whether the label is "O" or a BIO or BIOES label such as "B-PER".
bool is_bio(std::string_view label) {
  return label == "O" || (label.size() > 2 && label[1] == '-' &&
                          std::string_view("BIES").find(label[0]) != std::string_view::npos);
}

class ConllRows : public RowReader {
 public:
  ConllRows(const std::string& path, const std::vector<Field>& fields, FaultSink faults)
      : lines_(path), faults_(std::move(faults)) {
    if (fields.size() > 2)
      throw UsageError(
          str(path, ": CoNLL files have words and labels, but no field '", fields[2].name, "'"),
          "remove the second text, or set another format with data.format");
    for (const Field& field : fields) columns_.push_back(column_number(field.name));
  }

  bool next(std::vector<std::string>& values) override {
    while (read_sentence(values))
      if (fault_.empty()) return true;
    return false;
  }
  std::int64_t line() const override { return first_line_; }
  std::uint64_t bytes_read() const override { return lines_.bytes_read(); }

 private:
  // Reads one sentence; returns false at the end of the file. Reports a fault of the sentence to
  // the sink and stores it in fault_.
  bool read_sentence(std::vector<std::string>& values) {
    values.assign(columns_.size(), "");
    fault_.clear();
    words_ = 0;
    for (std::string line; lines_.next(line);) {
      if (lines_.number() == 1 && line.starts_with(kByteOrderMark))
        line.erase(0, kByteOrderMark.size());
      clean_text(line, lines_.number(), faults_);
      const std::string_view text = trim(line);
      if (text.starts_with("-DOCSTART-")) continue;
      if (words_ == 0 && text.starts_with("# ")) {
        hold(text);
        continue;
      }
      if (!text.empty() && words_ == 0) form_ = form_of(text);
      if (!text.empty()) remember_label(text);
      if (words_ == 0) take_held(values);
      if (text.empty() && words_ > 0) return true;
      if (!text.empty()) take_line(text, lines_.number(), values);
    }
    if (words_ == 0) take_held(values);
    return words_ > 0;
  }

  void hold(std::string_view line) {
    if (held_.size() == kMostHeld) held_.pop_front();
    held_.push_back({lines_.number(), std::string(line)});
  }
  // Adds the held lines at the end that contain words to the sentence and drops the others, which
  // are comments. A line contains a word if it has the format form_ and its label is a BIO label or
  // is in labels_.
  void take_held(std::vector<std::string>& values) {
    std::size_t comments = held_.size();
    while (comments > 0 && is_word(held_[comments - 1].text)) --comments;
    for (std::size_t i = comments; i < held_.size(); ++i)
      take_line(held_[i].text, held_[i].number, values);
    held_.clear();
  }

  bool is_word(std::string_view line) const {
    if (!has_form(line, form_)) return false;
    const std::string_view label = label_of(columns_of(line));
    return is_bio(label) || labels_.contains(label);
  }
  // Returns the label, or "" if the line has too few columns.
  std::string_view label_of(const std::vector<std::string_view>& cells) const {
    const std::size_t column =
        columns_.size() > 1 ? columns_[1].value_or(cells.size()) : cells.size();
    return column > cells.size() ? std::string_view() : cells[column - 1];
  }
  void remember_label(std::string_view line) {
    const std::string_view label = label_of(columns_of(line));
    if (!label.empty() && labels_.size() < kMostLabels && !labels_.contains(label))
      labels_.emplace(label);
  }

  void take_line(std::string_view line, std::int64_t number, std::vector<std::string>& values) {
    if (words_++ == 0) first_line_ = number;
    if (words_ > kMostWords)
      refuse(str("more than ", kMostWords, " words without an empty line"), number);
    else if (fault_.empty())
      add_word(line, number, values);
  }

  // Throws UsageError if column 1, which is read as the words, contains the numbers 1, 2, 3.
  void refuse_numbers(std::string_view cell, std::int64_t line) {
    if (words_ == 1) counted_ = 0;
    if (counted_ < 0 || is_no_word(cell)) return;
    counted_ = cell == std::to_string(counted_ + 1) ? counted_ + 1 : -1;
    if (counted_ == kNumbered)
      throw UsageError(
          str(lines_.path(), ":", line, ": column 1 contains word numbers (1, 2, 3), not words"),
          "select the column of the words with --field 2, or data.text: 2 in a recipe");
  }

  void add_word(std::string_view line, std::int64_t number, std::vector<std::string>& values) {
    const std::vector<std::string_view> cells = columns_of(line);
    if (columns_[0].value_or(1) > 1 && is_no_word(cells[0])) return void(--words_);
    if (!columns_[0] && cells.size() > 2) refuse_numbers(cells[0], number);
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const std::size_t column = columns_[i].value_or(i == 0 ? 1 : cells.size());
      if (column > cells.size() || (i == 1 && column == 1))
        return refuse(
            str("'", shortened(std::string(line), 60), "' has ", counted(cells.size(), "column")),
            number);
      if (!values[i].empty()) values[i] += ' ';
      for (const char c : cells[column - 1]) values[i] += c == ' ' ? '_' : c;
    }
  }

  void refuse(std::string what, std::int64_t line) {
    if (!fault_.empty()) return;
    fault_ = std::move(what);
    faults_(
        {.line = line,
         .what = fault_,
         .hint = "write a word and its label on each line, and an empty line after each sentence"});
  }

  LineReader lines_;
  std::vector<std::optional<std::size_t>> columns_;
  struct HeldLine {
    std::int64_t number;
    std::string text;
  };
  // Lines before a sentence that begin with "# ": comments, or words such as "#".
  std::deque<HeldLine> held_;
  Form form_;  // format of the sentence's first line that does not begin with "# "
  std::set<std::string, std::less<>> labels_;  // labels of the words so far
  std::int64_t words_ = 0;                     // words of the current sentence so far
  // Last word number in column 1 of the sentence; -1 if the sentence has no word numbers.
  std::int64_t counted_ = 0;
  std::int64_t first_line_ = 0;
  std::string fault_;
  FaultSink faults_;
};

}  // namespace

std::unique_ptr<RowReader> open_conll(const std::string& path, const std::vector<Field>& fields,
                                      FaultSink faults) {
  return std::make_unique<ConllRows>(path, fields, std::move(faults));
}

}  // namespace smelt::text
