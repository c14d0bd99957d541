#include "text/line_source.h"

#include <algorithm>

#include "store/folder.h"
#include "text/unicode.h"

namespace smelt {
namespace {

void clean(std::string& line) {
  if (line.find('\r') != std::string::npos) std::erase(line, '\r');
  const std::string_view stripped = python_strip(line);
  if (stripped.size() != line.size()) line = std::string(stripped);
}

}  // namespace

LineSource::LineSource(std::vector<std::string> files, const TextFormat& format,
                       Utf8Filter::Mode utf8)
    : files_(std::move(files)), format_(format.file), field_(format.field), utf8_(utf8) {
  for (const std::string& file : files_) (void)format_of(file, format_);
}

bool LineSource::open_next() {
  if (opened_ == files_.size()) return false;
  const std::string& path = files_[opened_++];
  if (format_of(path, format_) == FileFormat::text)
    lines_ = std::make_unique<LineReader>(path);
  else
    rows_ = open_rows(path, format_, {{.name = field_}}, utf8_);
  return true;
}

LineSource::Event LineSource::next(std::string& line) {
  if (!lines_ && !rows_ && !open_next()) return Event::end;
  if (rows_) return next_of_rows(line);
  if (!lines_->next(line)) {
    bytes_before_ += lines_->bytes_read();
    lines_.reset();
    return Event::file_end;
  }
  utf8_.apply(line, *lines_);
  clean(line);
  return Event::line;
}

LineSource::Event LineSource::next_of_rows(std::string& line) {
  if (!in_row_) {
    if (!rows_->next(row_)) {
      bytes_before_ += rows_->bytes_read();
      rows_.reset();
      return Event::file_end;
    }
    rest_ = row_.front();
    in_row_ = true;
  }
  if (rest_.empty()) {
    in_row_ = false;
    return Event::row_end;
  }
  const std::size_t end = std::min(rest_.find('\n'), rest_.size());
  line = rest_.substr(0, end);
  rest_.remove_prefix(std::min(rest_.size(), end + 1));
  clean(line);
  return Event::line;
}

std::uint64_t LineSource::bytes_read() const {
  return bytes_before_ + (lines_ ? lines_->bytes_read() : rows_ ? rows_->bytes_read() : 0);
}

std::uint64_t LineSource::total_bytes() const { return total_size(files_); }

}  // namespace smelt
