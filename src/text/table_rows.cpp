#include "text/table_rows.h"

#include <algorithm>

#include "base/error.h"
#include "base/nearest_name.h"

namespace smelt {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

class TableRows : public RowReader {
 public:
  TableRows(const std::string& path, Utf8Filter& utf8) : lines_(path), utf8_(utf8) {}

  // Before the first next().
  void read_header(const std::vector<Field>& fields) {
    read_cells();
    columns_in_header_ = cells_.size();
    for (const Field& field : fields) {
      const auto found = std::ranges::find(cells_, field.name);
      if (found == cells_.end())
        throw UsageError(str(lines_.path(), ":1: no column '", field.name, "'"),
                         did_you_mean(field.name, cells_));
      columns_.push_back(static_cast<std::size_t>(found - cells_.begin()));
    }
  }

  bool next(std::vector<std::string>& values) override {
    if (!read_cells()) return false;
    check_cells();
    values.resize(columns_.size());
    for (std::size_t i = 0; i < columns_.size(); ++i) values[i] = cells_[columns_[i]];
    return true;
  }
  std::uint64_t bytes_read() const override { return lines_.bytes_read(); }

 protected:
  // The cells of the next row; false at the end.
  virtual bool read_cells() = 0;
  virtual void check_cells() const = 0;

  bool next_line() {
    if (!lines_.next(line_)) return false;
    if (lines_.number() == 1 && line_.starts_with(kByteOrderMark))
      line_.erase(0, kByteOrderMark.size());
    utf8_.apply(line_, lines_);
    return true;
  }
  std::string place(std::int64_t line) const { return str(lines_.path(), ":", line); }

  LineReader lines_;
  Utf8Filter& utf8_;
  std::string line_;
  std::vector<std::string> cells_;
  std::size_t columns_in_header_ = 0;
  std::vector<std::size_t> columns_;  // that are wanted
};

class TsvRows : public TableRows {
  using TableRows::TableRows;

  bool read_cells() override {
    cells_.clear();
    if (!next_line()) return false;
    for (const std::string_view cell : split(line_, '\t')) cells_.emplace_back(cell);
    return true;
  }
  void check_cells() const override {
    const std::size_t last = std::ranges::max(columns_);
    if (cells_.size() > last) return;
    throw UsageError(str(place(lines_.number()), ": ", cells_.size(),
                         " columns, one that is wanted is column ", last + 1),
                     "give every line as many tabs as the first");
  }
};

class CsvRows : public TableRows {
  using TableRows::TableRows;

  bool read_cells() override {
    cells_.clear();
    do
      if (!next_line()) return false;
    while (line_.empty());
    first_line_ = lines_.number();
    row_bytes_ = line_.size();
    for (std::size_t at = 0;; ++at) {
      check_room();
      cells_.emplace_back();
      at = at < line_.size() && line_[at] == '"' ? read_quoted(at + 1) : read_plain(at);
      if (at == line_.size()) return true;
      if (line_[at] != ',')
        throw UsageError(str(place(lines_.number()), ": '", line_.substr(at, 20),
                             "' behind the quote that ends a field"),
                         "a quote within a quoted field is written twice");
    }
  }

  // Both return where the cell ends.
  std::size_t read_plain(std::size_t at) {
    const std::size_t end = std::min(line_.find(',', at), line_.size());
    cells_.back().assign(line_, at, end - at);
    return end;
  }
  std::size_t read_quoted(std::size_t at) {
    std::string& cell = cells_.back();
    for (;;) {
      const std::size_t quote = std::min(line_.find('"', at), line_.size());
      cell.append(line_, at, quote - at);
      at = quote + 1;
      if (quote == line_.size()) {
        if (!next_line())
          throw UsageError(str(place(first_line_), ": a quote is left open to the file's end"),
                           "end the quoted field, or double the quote");
        row_bytes_ += line_.size() + 1;
        if (row_bytes_ > kMaxLineBytes)
          throw UsageError(
              str(place(first_line_), ": a row of more than ", kMaxLineBytes >> 20, " MiB"),
              "is a quote left open there?");
        cell += '\n';
        at = 0;
      } else if (at < line_.size() && line_[at] == '"') {
        cell += '"';
        ++at;
      } else {
        return at;
      }
    }
  }

  // For one more cell: so that no row fills the memory with cells that are of no use.
  void check_room() const {
    const bool is_header = columns_in_header_ == 0;
    if (is_header && cells_.size() == kMostColumns)
      throw UsageError(str(place(first_line_), ": more than ", kMostColumns, " columns"),
                       "is it a table that begins with its columns' names?");
    if (!is_header && cells_.size() == columns_in_header_)
      throw UsageError(str(place(first_line_), ": more columns than the ", columns_in_header_,
                           " of the first line"),
                       kQuoteCommas);
  }
  void check_cells() const override {
    if (cells_.size() == columns_in_header_) return;
    throw UsageError(str(place(first_line_), ": ", cells_.size(), " columns, the first line has ",
                         columns_in_header_),
                     kQuoteCommas);
  }

  static constexpr std::size_t kMostColumns = 1 << 16;
  static constexpr std::string_view kQuoteCommas = "put a field that holds commas in double quotes";
  std::int64_t first_line_ = 0;  // of the row
  std::size_t row_bytes_ = 0;
};

template <class Rows>
std::unique_ptr<RowReader> open(const std::string& path, const std::vector<Field>& fields,
                                Utf8Filter& utf8) {
  auto rows = std::make_unique<Rows>(path, utf8);
  rows->read_header(fields);
  return rows;
}

}  // namespace

std::unique_ptr<RowReader> open_tsv(const std::string& path, const std::vector<Field>& fields,
                                    Utf8Filter& utf8) {
  return open<TsvRows>(path, fields, utf8);
}

std::unique_ptr<RowReader> open_csv(const std::string& path, const std::vector<Field>& fields,
                                    Utf8Filter& utf8) {
  return open<CsvRows>(path, fields, utf8);
}

}  // namespace smelt
