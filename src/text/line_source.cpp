#include "text/line_source.h"

#include <algorithm>

#include "base/error.h"
#include "base/nearest_name.h"
#include "store/path.h"
#include "text/rows.h"
#include "text/unicode.h"

namespace smelt {
namespace {

void clean(std::string& line) {
  if (line.find('\r') != std::string::npos) std::erase(line, '\r');
  const std::string_view stripped = python_strip(line);
  if (stripped.size() != line.size()) line = std::string(stripped);
}

class TextSource : public LineSource {
 public:
  TextSource(const std::string& path, Utf8Filter& utf8) : lines_(path), utf8_(utf8) {}

  Event next(std::string& line) override {
    if (!lines_.next(line)) return Event::end;
    utf8_.apply(line, lines_);
    clean(line);
    return Event::line;
  }
  bool has_rows() const override { return false; }

 private:
  LineReader lines_;
  Utf8Filter& utf8_;
};

class RowSource : public LineSource {
 public:
  explicit RowSource(std::unique_ptr<RowReader> rows) : rows_(std::move(rows)) {}

  Event next(std::string& line) override {
    if (!open_) {
      if (!rows_->next(text_)) return Event::end;
      rest_ = text_;
      open_ = true;
    }
    if (rest_.empty()) {
      open_ = false;
      return Event::row_end;
    }
    const std::size_t end = std::min(rest_.find('\n'), rest_.size());
    line = rest_.substr(0, end);
    rest_.remove_prefix(std::min(rest_.size(), end + 1));
    clean(line);
    return Event::line;
  }
  bool has_rows() const override { return true; }

 private:
  std::unique_ptr<RowReader> rows_;
  std::string text_;
  std::string_view rest_;
  bool open_ = false;
};

// The format that a path's ending says.
std::string format_of(const std::string& path) {
  const std::string file = path_name(path);
  std::string_view name = file;
  for (const std::string_view packed : {".gz", ".zst"})
    if (name.ends_with(packed)) name.remove_suffix(packed.size());
  if (name.ends_with(".jsonl") || name.ends_with(".ndjson")) return "jsonl";
  if (name.ends_with(".tsv")) return "tsv";
  return name.ends_with(".parquet") ? "parquet" : "text";
}

}  // namespace

void check_format(const TextFormat& format) {
  const std::vector<std::string> known{"auto", "text", "jsonl", "tsv", "parquet"};
  if (std::ranges::find(known, format.name) == known.end())
    throw UsageError(str("input: --format '", format.name, "' is unknown"),
                     did_you_mean(format.name, known));
}

std::unique_ptr<LineSource> open_source(const std::string& path, const TextFormat& format,
                                        Utf8Filter& utf8) {
  const std::string name = format.name == "auto" ? format_of(path) : format.name;
  if (name == "text") return std::make_unique<TextSource>(path, utf8);
  const auto open = name == "jsonl" ? open_jsonl : name == "tsv" ? open_tsv : open_parquet;
  return std::make_unique<RowSource>(open(path, format.field, utf8));
}

}  // namespace smelt
