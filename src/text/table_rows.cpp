#include "text/table_rows.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/nearest_name.h"
#include "text/lines.h"

namespace smelt {
namespace {

// Of "3" or "-1"; not of 0.
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

  // Before the first next().
  void begin(const std::vector<Field>& fields, Header header) {
    if (has_names_) return read_header(fields);
    if (header == Header::skipped) read_line_of_names();
    for (const Field& field : fields) {
      const auto number = column_by_number(field.name);
      if (!number && !field.is_optional)
        throw UsageError(str(lines_.path(), ": '", field.name, "' is no column's number"),
                         "give numbers from 1, or from the last, -1: columns have no names where "
                         "header is 'none' or 'skipped'");
      numbers_.push_back(number.value_or(0));
    }
  }

  bool next(std::vector<std::string>& values) override {
    values.resize(std::max(columns_.size(), numbers_.size()));
    while (next_row()) {
      if (!read_cells() || !(has_names_ ? fits_header() : has_columns())) {
        faults_({.line = first_line_, .what = what_, .hint = std::string(hint_)});
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
  // The cells of the row that begins in line_; false when they cannot be told, as refuse() said.
  virtual bool read_cells() = 0;
  virtual std::string_view hint_of_columns() const = 0;

  bool next_line() {
    if (!lines_.next(line_)) return false;
    if (lines_.number() == 1 && line_.starts_with(kByteOrderMark))
      line_.erase(0, kByteOrderMark.size());
    return true;
  }
  bool refuse(std::string what, std::string_view hint) {
    what_ = std::move(what);
    hint_ = hint;
    return false;
  }
  // Of the row that is read; 0 where any number will do.
  std::size_t columns_wanted() const { return columns_in_header_; }

  LineReader lines_;
  std::string line_;
  std::vector<std::string> cells_;
  std::int64_t first_line_ = 0;  // of the row

 private:
  void read_line_of_names() {
    if (next_row() && !read_cells())
      throw UsageError(str(lines_.path(), ":", first_line_, ": ", what_), hint_);
  }
  void read_header(const std::vector<Field>& fields) {
    read_line_of_names();
    if (cells_.empty())
      throw UsageError(str(lines_.path(), ": is empty, without even its columns' names"),
                       "give a table that begins with them, or leave the file out");
    columns_in_header_ = cells_.size();
    for (const Field& field : fields) {
      const auto found = std::ranges::find(cells_, field.name);
      if (found == cells_.end() && !field.is_optional)
        throw UsageError(str(lines_.path(), ":1: no column '", field.name, "'"),
                         did_you_mean(field.name, cells_));
      columns_.push_back(static_cast<std::size_t>(found - cells_.begin()));
    }
  }

  bool next_row() {
    cells_.clear();
    do
      if (!next_line()) return false;
    while (line_.empty());
    first_line_ = lines_.number();
    return true;
  }
  bool fits_header() {
    return cells_.size() == columns_in_header_ ||
           refuse(str(cells_.size(), " columns, the first line has ", columns_in_header_),
                  hint_of_columns());
  }

  // Those that are wanted by their numbers.
  bool has_columns() {
    const auto n = static_cast<std::int64_t>(cells_.size());
    columns_.clear();
    for (const std::int64_t number : numbers_) {
      const std::int64_t column = number > 0 ? number - 1 : n + number;
      if (column < 0 || (column >= n && number != 0))
        return refuse(str("no column ", number, " among ", n),
                      "columns are counted from 1, or from the last, which is -1");
      columns_.push_back(static_cast<std::size_t>(column));
    }
    return true;
  }

  FaultSink faults_;
  bool has_names_;
  std::size_t columns_in_header_ = 0;
  std::vector<std::size_t>
      columns_;  // of the row that are wanted; one beyond the last is not there
  std::vector<std::int64_t> numbers_;  // likewise, where they have no names; 0 is not there
  std::string what_;                   // is wrong with the row
  std::string_view hint_;
};

class TsvRows : public TableRows {
  using TableRows::TableRows;

  bool read_cells() override {
    for (const std::string_view cell : split(line_, '\t')) cells_.emplace_back(cell);
    return true;
  }
  std::string_view hint_of_columns() const override {
    return "give every line as many tabs as the first";
  }
};

class CsvRows : public TableRows {
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
      if (line_[at] != ',')
        return refuse(str("'", line_.substr(at, 20), "' behind the quote that ends a field"),
                      "a quote within a quoted field is written twice");
    }
  }

  // Both move to where the cell ends.
  void read_plain(std::size_t& at) {
    const std::size_t end = std::min(line_.find(',', at), line_.size());
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
        if (!next_line())
          return refuse("a quote is left open to the file's end",
                        "end the quoted field, or double the quote");
        row_bytes_ += line_.size() + 1;
        if (row_bytes_ > kMaxLineBytes)
          return refuse(str("a row of more than ", kMaxLineBytes >> 20, " MiB"),
                        "is a quote left open there?");
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

  // For one more cell: so that no row fills the memory with cells that are of no use.
  bool has_room() {
    if (columns_wanted() == 0 && cells_.size() == kMostColumns)
      return refuse(str("more than ", kMostColumns, " columns"),
                    "is it a table that begins with its columns' names?");
    if (columns_wanted() > 0 && cells_.size() == columns_wanted())
      return refuse(str("more columns than the ", columns_wanted(), " of the first line"),
                    kQuoteCommas);
    return true;
  }
  std::string_view hint_of_columns() const override { return kQuoteCommas; }

  static constexpr std::size_t kMostColumns = 1 << 16;
  static constexpr std::string_view kQuoteCommas = "put a field that holds commas in double quotes";
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
  return open<CsvRows>(path, fields, header, std::move(faults));
}

}  // namespace smelt
