#include "text/conll_rows.h"

#include <charconv>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/words.h"
#include "text/lines.h"

namespace smelt {
namespace {

constexpr std::int64_t kMostWords = 100000;

std::optional<std::size_t> column_number(const std::string& name) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size() || number == 0) return std::nullopt;
  return number;
}

class ConllRows : public RowReader {
 public:
  ConllRows(const std::string& path, const std::vector<Field>& fields, FaultSink faults)
      : lines_(path), faults_(std::move(faults)) {
    if (fields.size() > 2)
      throw UsageError(str(path, ": sentences of CoNLL have words and labels, and no field '",
                           fields[2].name, "'"),
                       "give no second text, or another format with data.format");
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
  // False at the file's end. What is wrong with the sentence is told and left in fault_.
  bool read_sentence(std::vector<std::string>& values) {
    values.assign(columns_.size(), "");
    fault_.clear();
    std::int64_t words = 0;
    for (std::string line; lines_.next(line);) {
      if (lines_.number() == 1 && line.starts_with(kByteOrderMark))
        line.erase(0, kByteOrderMark.size());
      clean_text(line, lines_.number(), faults_);
      const std::string_view text = trim(line);
      if (text.starts_with("-DOCSTART-") || (words == 0 && text.starts_with("# "))) continue;
      if (text.empty() && words == 0) continue;
      if (text.empty()) break;
      if (words++ == 0) first_line_ = lines_.number();
      if (words > kMostWords)
        refuse(str("more than ", kMostWords, " words without an empty line"));
      else if (fault_.empty())
        add_word(text, values);
    }
    return words > 0;
  }

  void add_word(std::string_view line, std::vector<std::string>& values) {
    std::vector<std::string_view> cells;
    const char between = line.find('\t') != std::string_view::npos ? '\t' : ' ';
    for (const std::string_view cell : split(line, between))
      if (!trim(cell).empty()) cells.push_back(trim(cell));
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const std::size_t column = columns_[i].value_or(i == 0 ? 1 : cells.size());
      if (column > cells.size() || (i == 1 && column == 1))
        return refuse(
            str("'", shortened(std::string(line), 60), "' has ", counted(cells.size(), "column")));
      if (!values[i].empty()) values[i] += ' ';
      for (const char c : cells[column - 1]) values[i] += c == ' ' ? '_' : c;
    }
  }

  void refuse(std::string what) {
    if (!fault_.empty()) return;
    fault_ = std::move(what);
    faults_({.line = lines_.number(),
             .what = fault_,
             .hint = "a line is a word and its label, an empty line ends a sentence"});
  }

  LineReader lines_;
  std::vector<std::optional<std::size_t>> columns_;
  std::int64_t first_line_ = 0;
  std::string fault_;
  FaultSink faults_;
};

}  // namespace

std::unique_ptr<RowReader> open_conll(const std::string& path, const std::vector<Field>& fields,
                                      FaultSink faults) {
  return std::make_unique<ConllRows>(path, fields, std::move(faults));
}

}  // namespace smelt
