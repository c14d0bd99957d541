#include "text/readers/lines.h"

#include "base/error.h"

namespace smelt::text {
namespace {

constexpr std::size_t kBufferBytes = 1 << 18;

// Detects UTF-16 by its byte order mark, or by the zero bytes of two ASCII characters.
bool is_utf16(std::string_view head) {
  if (head.starts_with("\xFF\xFE") || head.starts_with("\xFE\xFF")) return true;
  if (head.size() < 4) return false;
  const auto zero = [&](std::size_t i) { return head[i] == '\0'; };
  return zero(0) != zero(1) && zero(0) == zero(2) && zero(1) == zero(3);
}

void check_head(const std::string& path, std::string_view head) {
  if (is_utf16(head))
    throw UsageError(str(path, ": is UTF-16, not UTF-8"), "convert it: `iconv -f utf-16 -t utf-8`");
  io::check_packing(path, head);
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
          "check that this is a text file, or break its lines, for example with `fold -s`");
    if (end != std::string_view::npos) {
      rest_.remove_prefix(end + 1);
      break;
    }
    if (!refill()) break;
  }
  if (line.ends_with('\r')) line.pop_back();
  return true;
}

}  // namespace smelt::text
