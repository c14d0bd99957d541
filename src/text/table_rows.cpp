#include "text/table_rows.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/nearest_name.h"
#include "text/lines.h"

namespace smelt {
namespace {

class TableRows : public RowReader {
 public:
  TableRows(const std::string& path, FaultSink faults) : lines_(path), faults_(std::move(faults)) {}

  // Before the first next().
  void read_header(const std::vector<Field>& fields) {
    if (next_row() && !read_cells())
      throw UsageError(str(lines_.path(), ":", first_line_, ": ", what_), hint_);
    columns_in_header_ = cells_.size();
    for (const Field& field : fields) {
      const auto found = std::ranges::find(cells_, field.name);
      if (found == cells_.end() && !field.is_optional)
        throw UsageError(str(lines_.path(), ":1: no column '", field.name, "'"),
                         did_you_mean(field.name, cells_));
      columns_.push_back(static_cast<std::size_t>(found - cells_.begin()));
    }
  }

  bool next(std::vector<std::string>& values) override {
    values.resize(columns_.size());
    while (next_row()) {
      if (!read_cells() || !fits_header()) {
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
  bool is_header() const { return columns_in_header_ == 0; }

  LineReader lines_;
  std::string line_;
  std::vector<std::string> cells_;
  std::size_t columns_in_header_ = 0;
  std::int64_t first_line_ = 0;  // of the row

 private:
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

  FaultSink faults_;
  std::vector<std::size_t> columns_;  // that are wanted; one beyond the last is not there
  std::string what_;                  // is wrong with the row
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
    if (is_header() && cells_.size() == kMostColumns)
      return refuse(str("more than ", kMostColumns, " columns"),
                    "is it a table that begins with its columns' names?");
    if (!is_header() && cells_.size() == columns_in_header_)
      return refuse(str("more columns than the ", columns_in_header_, " of the first line"),
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
                                FaultSink faults) {
  auto rows = std::make_unique<Rows>(path, std::move(faults));
  rows->read_header(fields);
  return rows;
}

}  // namespace

std::unique_ptr<RowReader> open_tsv(const std::string& path, const std::vector<Field>& fields,
                                    FaultSink faults) {
  return open<TsvRows>(path, fields, std::move(faults));
}

std::unique_ptr<RowReader> open_csv(const std::string& path, const std::vector<Field>& fields,
                                    FaultSink faults) {
  return open<CsvRows>(path, fields, std::move(faults));
}

}  // namespace smelt
