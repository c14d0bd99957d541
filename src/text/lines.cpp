#include "text/lines.h"

#include <spdlog/spdlog.h>

#include <algorithm>

#include "base/error.h"
#include "base/words.h"
#include "text/unicode.h"

namespace smelt {
namespace {

constexpr std::size_t kBufferBytes = 1 << 18;

// By its mark, or by the zeros of two ASCII characters.
bool is_utf16(std::string_view head) {
  if (head.starts_with("\xFF\xFE") || head.starts_with("\xFE\xFF")) return true;
  if (head.size() < 4) return false;
  const auto zero = [&](std::size_t i) { return head[i] == '\0'; };
  return zero(0) != zero(1) && zero(0) == zero(2) && zero(1) == zero(3);
}

void check_head(const std::string& path, std::string_view head) {
  if (is_utf16(head))
    throw UsageError(str(path, ": is UTF-16, not UTF-8"), "convert it: `iconv -f utf-16 -t utf-8`");
  check_packing(path, head);
}

}  // namespace

LineReader::LineReader(const std::string& path) : file_(path), buffer_(kBufferBytes) {}

bool LineReader::refill() {
  rest_ = std::string_view(buffer_.data(), file_.read(buffer_));
  return !rest_.empty();
}

bool LineReader::next(std::string& line) {
  line.clear();
  if (rest_.empty() && !refill()) return false;
  if (number_++ == 0) check_head(path(), rest_);
  for (;;) {
    const auto end = rest_.find('\n');
    line.append(rest_.substr(0, end));
    if (line.size() > kMaxLineBytes)
      throw UsageError(
          str(path(), ":", number_, ": a line of more than ", kMaxLineBytes >> 20, " MiB"),
          "is this a text file? Break its lines, e.g. with `fold`");
    if (end != std::string_view::npos) {
      rest_.remove_prefix(end + 1);
      break;
    }
    if (!refill()) break;
  }
  if (line.ends_with('\r')) line.pop_back();
  return true;
}

void Utf8Filter::apply(std::string& line, const std::string& path, std::int64_t number) {
  if (line.find('\0') != std::string::npos) count_zeros(line, path, number);
  if (is_ascii(line)) return;
  std::size_t dropped = 0;
  std::string kept = decode_utf8_ignore(line, &dropped);
  if (dropped == 0) return;
  count_dropped(dropped, path, number);
  line = std::move(kept);
}

void Utf8Filter::count_dropped(std::size_t bytes, const std::string& path, std::int64_t number) {
  const std::string where = str(path, ":", number);
  if (mode_ == Mode::refuse)
    throw UsageError(
        str(where, ": not UTF-8 (", counted(bytes, "byte"), ")"),
        "convert the file, e.g. with `iconv -f latin1 -t utf-8`, or leave out --strict");
  if (first_.empty()) first_ = where;
  dropped_bytes_ += static_cast<std::int64_t>(bytes);
}

void Utf8Filter::count_zeros(const std::string& line, const std::string& path,
                             std::int64_t number) {
  const std::string where = str(path, ":", number);
  const auto zeros = std::ranges::count(line, '\0');
  if (mode_ == Mode::refuse)
    throw UsageError(str(where, ": ", zeros, " NUL bytes, which no text has"),
                     "leave the file out if it is no text, or leave out --strict");
  if (first_zero_.empty()) first_zero_ = where;
  zeros_ += zeros;
}

void Utf8Filter::warn() const {
  if (dropped_bytes_ > 0)
    spdlog::warn("{} that {} not UTF-8 {} left out, the first in {}",
                 counted(dropped_bytes_, "byte"), dropped_bytes_ == 1 ? "is" : "are",
                 dropped_bytes_ == 1 ? "was" : "were", first_);
  if (zeros_ > 0)
    spdlog::warn("{} in the text, the first in {}: is that a text file?",
                 counted(zeros_, "NUL byte stands", "NUL bytes stand"), first_zero_);
}

}  // namespace smelt
