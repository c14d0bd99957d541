#include "io/formats/checkpoint_state.h"

#include "base/error.h"

namespace smelt::io {
namespace {

[[noreturn]] void refuse_line(std::string_view origin, std::size_t number, std::string_view line) {
  throw UsageError(str(origin, ": line ", number, " is not `name: value`: ", line),
                   "correct or remove the file, or give the path of the checkpoint itself");
}

int octal_digit(std::string_view text, std::size_t at) {
  return at < text.size() && text[at] >= '0' && text[at] <= '7' ? text[at] - '0' : -1;
}

// Removes the escapes of a text proto from a quoted string. Returns false if one is invalid.
bool unescape(std::string_view text, std::string& out) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      if (text[i] == '"') return false;
      out += text[i];
      continue;
    }
    if (++i == text.size()) return false;
    if (octal_digit(text, i) >= 0) {
      int code = octal_digit(text, i);
      for (int more = 0; more < 2 && octal_digit(text, i + 1) >= 0; ++more)
        code = 8 * code + octal_digit(text, ++i);
      out += static_cast<char>(code);
    } else {
      out += text[i] == 'n' ? '\n' : text[i] == 't' ? '\t' : text[i];
    }
  }
  return true;
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
  return out + "\"";
}

constexpr std::string_view kNewest = "model_checkpoint_path", kEach = "all_model_checkpoint_paths";

}  // namespace

CheckpointState parse_checkpoint_state(std::string_view text, std::string_view origin) {
  CheckpointState state;
  std::size_t number = 0;
  for (const std::string_view line : split(text, '\n')) {
    ++number;
    const std::string_view stripped = trim(line);
    if (stripped.empty() || stripped.front() == '#') continue;
    const std::size_t colon = stripped.find(':');
    if (colon == std::string_view::npos) refuse_line(origin, number, stripped);
    const std::string_view name = trim(stripped.substr(0, colon));
    if (name != kNewest && name != kEach) continue;
    const std::string_view value = trim(stripped.substr(colon + 1));
    std::string path;
    if (value.size() < 2 || value.front() != '"' || value.back() != '"' ||
        !unescape(value.substr(1, value.size() - 2), path))
      refuse_line(origin, number, stripped);
    if (name == kNewest)
      state.newest = path;
    else
      state.all.push_back(path);
  }
  return state;
}

std::string checkpoint_state_text(const CheckpointState& state) {
  std::string out = str(kNewest, ": ", quoted(state.newest), "\n");
  for (const std::string& path : state.all) out += str(kEach, ": ", quoted(path), "\n");
  return out;
}

}  // namespace smelt::io
