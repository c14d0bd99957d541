#include "text/readers/table_rows.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <deque>
#include <iterator>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/nearest_name.h"
#include "base/plural.h"
#include "text/readers/lines.h"

namespace smelt::text {
namespace {

// Returns the number in "3" or "-1"; nullopt for 0 and other text.
std::optional<std::int64_t> column_by_number(std::string_view name) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size() || number == 0) return std::nullopt;
  return number;
}

class TableRows : public RowReader {
 public:
  TableRows(const std::string& path, Header header, FaultSink faults)
      : lines_(path), faults_(std::move(faults)), has_names_(header == Header::names) {}

  // Must be called before the first next().
  void begin(const std::vector<Field>& fields, Header header) {
    if (has_names_) return read_header(fields);
    if (header == Header::skipped) read_line_of_names();
    for (const Field& field : fields) {
      const auto number = column_by_number(field.name);
      if (!number && !field.is_optional)
        throw UsageError(str(lines_.path(), ": '", field.name, "' is not a column number"),
                         "use column numbers (1 is the first, -1 the last), because header 'none' "
                         "and 'skipped' give columns no names");
      numbers_.push_back(number.value_or(0));
    }
  }

  bool next(std::vector<std::string>& values) override {
    values.resize(std::max(columns_.size(), numbers_.size()));
    while (next_row()) {
      if (!read_cells() || !(has_names_ ? fits_header() : has_columns())) {
        const std::uint64_t lines = read_again_ ? 1 : 1 + taken_.size();
        if (read_again_) give_back_lines();
        faults_({.line = first_line_, .what = what_, .hint = std::string(hint_), .rows = lines});
        continue;
      }
      for (std::size_t i = 0; i < columns_.size(); ++i)
        clean_text(values[i] = columns_[i] < cells_.size() ? cells_[columns_[i]] : "", first_line_,
                   faults_);
      return true;
    }
    return false;
  }
  std::int64_t line() const override { return first_line_; }
  std::uint64_t bytes_read() const override { return lines_.bytes_read(); }

 protected:
  // Splits the row that begins in line_ into cells_. Returns false, after refuse(), if that fails.
  virtual bool read_cells() = 0;
  virtual std::string_view hint_of_columns() const = 0;

  bool next_line() {
    if (!given_back_.empty()) {
      line_ = std::move(given_back_.front());
      given_back_.pop_front();
    } else if (!lines_.next(line_)) {
      return false;
    }
    if (++number_ == 1 && line_.starts_with(kByteOrderMark)) line_.erase(0, kByteOrderMark.size());
    return true;
  }
  // Reads the next line of the current row.
  bool next_line_of_row() {
    if (!next_line()) return false;
    taken_.push_back(line_);
    return true;
  }
  bool refuse(std::string what, std::string_view hint) {
    what_ = std::move(what);
    hint_ = hint;
    return false;
  }
  // Rejects a row with a misplaced or missing closing quote. The opening quote may be a stray one,
  // so only the row's first line is skipped and the lines after it are read again.
  bool refuse_quote(std::string what, std::string_view hint) {
    read_again_ = true;
    return refuse(std::move(what), hint);
  }
  // Returns the number of columns that the row must have; 0 if any number is allowed.
  std::size_t columns_wanted() const { return columns_in_header_; }

  LineReader lines_;
  FaultSink faults_;
  std::string line_;
  std::vector<std::string> cells_;
  std::int64_t first_line_ = 0;  // first line of the row

 private:
  void read_line_of_names() {
    if (next_row() && !read_cells())
      throw UsageError(str(lines_.path(), ":", first_line_, ": ", what_), hint_);
  }
  void read_header(const std::vector<Field>& fields) {
    read_line_of_names();
    if (cells_.empty())
      throw UsageError(str(lines_.path(), ": is empty, expected a line with the column names"),
                       "give a table that begins with column names, or leave out the file");
    columns_in_header_ = cells_.size();
    for (const Field& field : fields) {
      const auto found = std::ranges::find(cells_, field.name);
      if (found == cells_.end() && !field.is_optional)
        throw UsageError(str(lines_.path(), ":1: no column '", field.name, "'"),
                         hint_for_column(field.name));
      columns_.push_back(static_cast<std::size_t>(found - cells_.begin()));
    }
  }

  std::string hint_for_column(const std::string& name) const {
    if (std::ranges::find(cells_, str('"', name, '"')) != cells_.end())
      return "the column names are in quotes: read the file with format tsv-quoted";
    if (cells_.size() == 1 && cells_[0].find('\t') != cells_[0].npos)
      return "its columns are separated by tabs: set the format to tsv, or to tsv-quoted if cells "
             "are in quotes";
    if (cells_.size() == 1 && cells_[0].find_first_of(";,\t") != cells_[0].npos)
      return str("the first line has one column, '", shortened(cells_[0], 60),
                 "': separate columns by commas in a CSV, by tabs in a TSV");
    if (const auto nearest = nearest_name(name, cells_))
      return str("did you mean '", *nearest, "'?");
    constexpr std::size_t kShown = 60;
    return str("its first line has the columns ", shortened(join(cells_, ", "), kShown),
               "; name one of them, or for a file without names set header none and give columns "
               "by number, from 1");
  }

  bool next_row() {
    cells_.clear();
    taken_.clear();
    read_again_ = false;
    do
      if (!next_line()) return false;
    while (line_.empty());
    first_line_ = number_;
    return true;
  }
  // Puts the lines after the row's first one back in front of the unread lines. This reads no line
  // more than a few times: a line that opens a quote also closes the open quote of the row before.
  void give_back_lines() {
    number_ -= std::ssize(taken_);
    given_back_.insert(given_back_.begin(), std::make_move_iterator(taken_.begin()),
                       std::make_move_iterator(taken_.end()));
  }
  bool fits_header() {
    return cells_.size() == columns_in_header_ ||
           refuse(str(cells_.size(), " columns, but the first line has ", columns_in_header_),
                  hint_of_columns());
  }

  // Returns whether the row has the columns that are requested by number.
  bool has_columns() {
    const auto n = static_cast<std::int64_t>(cells_.size());
    columns_.clear();
    for (const std::int64_t number : numbers_) {
      const std::int64_t column = number > 0 ? number - 1 : n + number;
      if (column < 0 || (column >= n && number != 0))
        return refuse(str("no column ", number, " among ", n),
                      "column 1 is the first, -1 the last");
      columns_.push_back(static_cast<std::size_t>(column));
    }
    return true;
  }

  bool has_names_;
  std::int64_t number_ = 0;             // number of line_, from 1
  std::vector<std::string> taken_;      // further lines of the current row
  bool read_again_ = false;             // whether the lines of a rejected row are being read again
  std::deque<std::string> given_back_;  // lines to read before the next line of lines_
  std::size_t columns_in_header_ = 0;
  std::vector<std::size_t>
      columns_;  // indices of the requested columns; out of range if optional and missing
  std::vector<std::int64_t>
      numbers_;       // the requested columns by number, if they have no names; 0: missing
  std::string what_;  // error message for the row
  std::string_view hint_;
};

// Returns whether a program put the cell in quotes: it begins and ends with one and has at least
// one doubled quote, and no other, in between.
bool is_quoted_cell(std::string_view cell) {
  if (cell.size() < 4 || !cell.starts_with('"') || !cell.ends_with('"')) return false;
  bool doubled = false;
  for (std::size_t at = 1; at + 1 < cell.size(); ++at) {
    if (cell[at] != '"') continue;
    if (++at + 1 >= cell.size() || cell[at] != '"') return false;
    doubled = true;
  }
  return doubled;
}

class TsvRows : public TableRows {
  using TableRows::TableRows;

  bool read_cells() override {
    opens_quote_ = false;
    for (const std::string_view cell : smelt::split(line_, '\t')) {
      cells_.emplace_back(cell);
      if (!cell.starts_with('"')) continue;
      if (is_quoted_cell(cell))
        faults_({.kind = TextFault::Kind::quoted_cell, .line = first_line_});
      opens_quote_ = std::ranges::count(cell, '"') % 2 == 1;
    }
    if (opens_quote_ && cells_.size() < columns_wanted())
      faults_({.kind = TextFault::Kind::quoted_cell, .line = first_line_});
    return true;
  }
  std::string_view hint_of_columns() const override {
    if (opens_quote_)
      return "in the format tsv quotes are ordinary characters; use format tsv-quoted if fields "
             "are quoted";
    return "use the same number of tabs in every line";
  }

  bool opens_quote_ = false;  // the row's last cell that begins with a quote does not end with one
};

// A table whose fields are separated by `kSeparator` and may be quoted.
template <char kSeparator>
class QuotedRows : public TableRows {
  using TableRows::TableRows;

  bool read_cells() override {
    row_bytes_ = line_.size();
    for (std::size_t at = 0;; ++at) {
      if (!has_room()) return false;
      cells_.emplace_back();
      if (at < line_.size() && line_[at] == '"') {
        if (!read_quoted(++at)) return false;
      } else {
        read_plain(at);
      }
      if (at == line_.size()) return true;
      if (line_[at] != kSeparator)
        return refuse_quote(
            str("'", shortened(line_.substr(at, 80), 20), "' after the closing quote of a field"),
            "write a quote within a quoted field twice");
    }
  }

  // Both functions move `at` to the end of the cell.
  void read_plain(std::size_t& at) {
    const std::size_t end = std::min(line_.find(kSeparator, at), line_.size());
    cells_.back().assign(line_, at, end - at);
    at = end;
  }
  bool read_quoted(std::size_t& at) {
    std::string& cell = cells_.back();
    for (;;) {
      const std::size_t quote = std::min(line_.find('"', at), line_.size());
      cell.append(line_, at, quote - at);
      at = quote + 1;
      if (quote == line_.size()) {
        if (!next_line_of_row())
          return refuse_quote("a quote is not closed before the end of the file",
                              "close the quoted field, or double the quote");
        row_bytes_ += line_.size() + 1;
        if (row_bytes_ > kMaxLineBytes)
          return refuse_quote(str("a row of more than ", kMaxLineBytes >> 20, " MiB"),
                              "check whether a quote is not closed there");
        cell += '\n';
        at = 0;
      } else if (at < line_.size() && line_[at] == '"') {
        cell += '"';
        ++at;
      } else {
        return true;
      }
    }
  }

  // Returns whether the row may have another cell. This limits the memory that a malformed row can
  // use.
  bool has_room() {
    if (columns_wanted() == 0 && cells_.size() == kMostColumns)
      return refuse(str("more than ", kMostColumns, " columns"),
                    "check that this is a table that begins with column names");
    if (columns_wanted() > 0 && cells_.size() == columns_wanted())
      return refuse(str("more columns than the ", columns_wanted(), " of the first line"),
                    hint_of_columns());
    return true;
  }
  std::string_view hint_of_columns() const override {
    return kSeparator == ',' ? "put fields that contain commas in double quotes"
                             : "put fields that contain tabs in double quotes";
  }

  static constexpr std::size_t kMostColumns = 1 << 16;
  std::size_t row_bytes_ = 0;
};

template <class Rows>
std::unique_ptr<RowReader> open(const std::string& path, const std::vector<Field>& fields,
                                Header header, FaultSink faults) {
  auto rows = std::make_unique<Rows>(path, header, std::move(faults));
  rows->begin(fields, header);
  return rows;
}

}  // namespace

std::unique_ptr<RowReader> open_tsv(const std::string& path, const std::vector<Field>& fields,
                                    Header header, FaultSink faults) {
  return open<TsvRows>(path, fields, header, std::move(faults));
}

std::unique_ptr<RowReader> open_csv(const std::string& path, const std::vector<Field>& fields,
                                    Header header, FaultSink faults) {
  return open<QuotedRows<','>>(path, fields, header, std::move(faults));
}

std::unique_ptr<RowReader> open_quoted_tsv(const std::string& path,
                                           const std::vector<Field>& fields, Header header,
                                           FaultSink faults) {
  return open<QuotedRows<'\t'>>(path, fields, header, std::move(faults));
}

}  // namespace smelt::text
