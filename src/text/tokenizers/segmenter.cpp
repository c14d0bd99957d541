#include "text/tokenizers/segmenter.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/plural.h"
#include "base/run_program.h"
#include "text/readers/unicode.h"

namespace smelt::text {
namespace {

constexpr const char* kFlag = "--segment-command (vocab.segment_command)";

struct Allowed {
  std::mutex mutex;
  std::set<std::string> commands;
};
Allowed& allowed() {
  static Allowed out;
  return out;
}

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }

// Returns the bytes of the character at `at`, which must be before the end of the text.
std::string_view bytes_at(std::string_view text, std::size_t at) {
  std::size_t end = at + 1;
  while (end < text.size() && continues_character(text[end])) ++end;
  return text.substr(at, end - at);
}

// Returns whether a command may add or remove the character. Control characters are sent as spaces.
bool is_separator(std::string_view character) {
  if (character.size() == 1) return character[0] == ' ' || is_control(character[0]);
  const std::u32string c = to_code_points(character);
  return c.size() == 1 && is_python_space(c[0]);
}

std::size_t skip_spaces(std::string_view text, std::size_t at) {
  while (at < text.size() && is_separator(bytes_at(text, at))) at += bytes_at(text, at).size();
  return at;
}

// Returns the text as one line. Control characters become spaces, because a command may treat them
// as line ends.
std::string as_line(std::string_view text) {
  std::string out(text);
  std::ranges::replace_if(out, is_control, ' ');
  return out;
}

bool is_blank(std::string_view text) { return skip_spaces(text, 0) == text.size(); }

bool ends_with_space(std::string_view text) {
  std::size_t begin = text.size();
  while (begin > 0 && continues_character(text[--begin])) {
  }
  return !text.empty() && is_separator(text.substr(begin));
}

[[noreturn]] void throw_changed(const std::string& command, std::string_view text,
                                std::string_view found) {
  throw UsageError(str(kFlag, ": '", command, "' changed '", shortened(text, 60), "' to '",
                       shortened(found, 60), "'; it may only add and remove spaces"),
                   "give a command that writes each line that it reads, with spaces between words");
}

// Returns the words of `line`, the command's output for `text`, with their sources.
MappedText aligned(const std::string& command, const MappedText& text, std::string_view line) {
  std::size_t ill_formed = 0;
  (void)decode_utf8_ignore(line, &ill_formed);
  if (ill_formed > 0)
    throw UsageError(str(kFlag, ": '", command, "' wrote bytes that are not UTF-8 for '",
                         shortened(text.text, 60), "'"),
                     "give the command a dictionary or an option for UTF-8");
  MappedText out = text.like();
  const std::string_view given = text.text;
  std::size_t from = skip_spaces(given, 0);
  if (from > 0) out.append(" ", text.source(0, from));
  for (std::size_t at = skip_spaces(line, 0); at < line.size();) {
    const std::string_view character = bytes_at(line, at);
    if (from >= given.size() || bytes_at(given, from) != character)
      throw_changed(command, given, line);
    out.append(text, from, from + character.size());
    from = skip_spaces(given, from + character.size());
    at += character.size();
    const std::size_t next = skip_spaces(line, at);
    if (next > at && next < line.size()) out.append(" ", text.place_before(from));
    at = next;
  }
  if (from < given.size()) throw_changed(command, given, line);
  if (ends_with_space(given)) out.append(" ", text.source(given.size() - 1, given.size()));
  return out;
}

}  // namespace

void allow_segment_command(const std::string& command) {
  const std::lock_guard lock(allowed().mutex);
  allowed().commands.insert(command);
}

Segmenter::Segmenter(std::string command, LineFilter::Seconds silence)
    : command_(std::move(command)), silence_(silence) {}

std::shared_ptr<const Segmenter> Segmenter::of(const std::string& command) {
  if (command.empty()) return nullptr;
  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<const Segmenter>> all;
  const std::lock_guard lock(mutex);
  std::weak_ptr<const Segmenter>& known = all[command];
  auto out = known.lock();
  if (!out) known = out = std::make_shared<const Segmenter>(command);
  return out;
}

void Segmenter::check_allowed(std::string_view origin) const {
  const std::lock_guard lock(allowed().mutex);
  if (allowed().commands.contains(command_)) return;
  throw UsageError(str(origin, ": text for this vocabulary is split into words by the command '",
                       command_, "', which smelt does not run unless you allow it"),
                   str("if you trust the command, allow it with --segment-command ",
                       shell_word(command_), ", in a recipe vocab.segment_command"));
}

std::vector<std::string> Segmenter::passed_through(LineFilter& filter,
                                                   std::span<const std::string> lines,
                                                   bool is_last) const try {
  return is_last ? filter.filter_last(lines) : filter.filter(lines);
} catch (const UsageError& e) {
  const ErrorParts parts = error_parts(e.what());
  throw UsageError(str(kFlag, ": ", parts.what), parts.hint);
} catch (const SystemError& e) {
  const ErrorParts parts = error_parts(e.what());
  throw SystemError(str(kFlag, ": ", parts.what), parts.hint);
}

void Segmenter::try_out() const {
  check_allowed("segment_command");
  const std::vector<std::string> lines{"a word", "1 2", "words"};
  LineFilter filter(command_, silence_);
  const std::vector<std::string> found = passed_through(filter, lines, true);
  for (std::size_t i = 0; i < lines.size(); ++i)
    (void)aligned(command_, MappedText::of(lines[i], 0, false), found[i]);
}

std::vector<std::string> Segmenter::run(std::span<const std::string> lines) const {
  check_allowed("segment_command");
  std::unique_ptr<LineFilter> filter;
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      filter = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  if (!filter) filter = std::make_unique<LineFilter>(command_, silence_);
  std::vector<std::string> out = passed_through(*filter, lines, false);
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(filter));
  return out;
}

MappedText Segmenter::split(const MappedText& text) const {
  if (is_blank(text.text)) return text;
  const std::string line = as_line(text.text);
  return aligned(command_, text, run({&line, 1})[0]);
}

std::string Segmenter::split(std::string_view utf8) const {
  return split(MappedText::of(utf8, 0, false)).text;
}

std::vector<std::string> Segmenter::split_lines(std::span<const std::string> lines) const {
  std::vector<MappedText> texts;
  std::vector<std::string> sent;
  for (const std::string& line : lines) {
    texts.push_back(MappedText::of(line, 0, false));
    if (!is_blank(texts.back().text)) sent.push_back(as_line(texts.back().text));
  }
  const std::vector<std::string> found = sent.empty() ? sent : run(sent);
  std::vector<std::string> out;
  std::size_t next = 0;
  for (const MappedText& text : texts)
    out.push_back(is_blank(text.text) ? text.text : aligned(command_, text, found[next++]).text);
  return out;
}

}  // namespace smelt::text
