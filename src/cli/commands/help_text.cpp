#include "cli/commands/help_text.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <string_view>

#include "base/plural.h"
#include "base/str.h"

namespace smelt::cli {
namespace {

constexpr std::size_t kFewestColumns = 20;

// Returns the indentation of a line's continuation lines: the column of its second text, which
// follows two or more spaces, if the line has one that is not too far right.
std::size_t hanging_indent(std::string_view line, std::size_t columns) {
  const std::size_t first = std::min(line.find_first_not_of(' '), line.size());
  const std::size_t gap = line.find("  ", first);
  const std::size_t second = gap == line.npos ? line.npos : line.find_first_not_of(' ', gap);
  // A line that is indented this far continues a description.
  if (first >= columns / 4) return first;
  if (second == line.npos) return first + (first > 0 ? 4 : 0);
  const std::size_t column = characters(line.substr(0, second));
  return column <= columns / 2 ? column : first + 4;
}

void wrap_line(std::string_view line, std::size_t columns, std::string& out) {
  if (characters(line) <= columns) {
    out.append(line).append("\n");
    return;
  }
  const std::size_t indent = hanging_indent(line, columns);
  std::size_t at = 0, used = 0;
  bool begins = true;  // the line is empty so far
  while (at < line.size()) {
    const std::size_t word = std::min(line.find_first_not_of(' ', at), line.size());
    const std::size_t end = std::min(line.find(' ', word), line.size());
    const std::size_t width = characters(line.substr(word, end - word));
    const std::size_t spaces = word - at;
    if (!begins && used + spaces + width > columns) {
      out.append("\n").append(indent, ' ');
      used = indent;
    } else {
      out.append(spaces, ' ');
      used += spaces;
    }
    out.append(line.substr(word, end - word));
    used += width;
    begins = false;
    at = end;
  }
  out += "\n";
}

}  // namespace

std::size_t help_columns() {
  ::winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    return std::max<std::size_t>(size.ws_col, kFewestColumns);
  const char* said = std::getenv("COLUMNS");
  std::size_t columns = 0;
  if (said == nullptr) return std::string::npos;
  const std::string_view word(said);
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), columns);
  const bool is_number = error == std::errc() && end == word.data() + word.size();
  return is_number && columns >= kFewestColumns ? columns : std::string::npos;
}

std::string wrapped(const std::string& text, std::size_t columns) {
  if (columns == std::string::npos) return text;
  std::string out;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    wrap_line(std::string_view(text).substr(at, end - at), columns, out);
    at = end + 1;
  }
  if (!text.ends_with('\n') && out.ends_with('\n')) out.pop_back();
  return out;
}

}  // namespace smelt::cli
