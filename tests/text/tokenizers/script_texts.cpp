#include "text/tokenizers/script_texts.h"

#include <unicode/uchar.h>

#include "io/filesystem/file.h"
#include "support/paths.h"
#include "text/readers/unicode.h"

namespace smelt::text {
namespace {

void append_code_point(Draw& draw,
                       const std::vector<std::pair<std::uint32_t, std::uint32_t>>& ranges,
                       std::string& out) {
  for (;;) {
    const auto [first, last] = ranges[draw.below(ranges.size())];
    const auto c = static_cast<char32_t>(first + draw.below(last - first + 1));
    if (known_to_unicode(14, c)) return append_utf8(c, out);
  }
}

}  // namespace

std::uint64_t Draw::below(std::uint64_t count) {
  std::uint64_t z = state_ += 0x9E3779B97F4A7C15;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return (z ^ (z >> 31)) % count;
}

ScriptTexts::ScriptTexts()
    : golden_(OrderedJson::parse(io::read_file(source_path("tests/golden/scripts.json")))),
      separators_(golden_["separators"]),
      random_ranges_(golden_["random_ranges"]) {}

std::vector<std::string> ScriptTexts::names() const {
  std::vector<std::string> names;
  for (const auto& [name, script] : golden_["scripts"].items()) names.push_back(name);
  return names;
}

std::vector<std::string> ScriptTexts::lines(const std::string& name, std::uint64_t seed,
                                            std::size_t bytes) const {
  const auto& json = golden_["scripts"][name];
  const Script script{json["words"], json["ranges"]};
  Draw draw(seed);
  std::vector<std::string> lines;
  for (std::size_t size = 0; size < bytes; size += lines.back().size())
    lines.push_back(line(draw, script));
  return lines;
}

std::string ScriptTexts::line(Draw& draw, const Script& script) const {
  std::string text;
  for (std::uint64_t words = 4 + draw.below(12); words > 0; --words) {
    if (draw.below(4) > 0)
      text += script.words[draw.below(script.words.size())];
    else
      for (std::uint64_t letters = 1 + draw.below(8); letters > 0; --letters)
        append_code_point(draw, script.ranges, text);
    text += separators_[draw.below(separators_.size())];
  }
  return text;
}

std::string ScriptTexts::random_string(Draw& draw) const {
  std::string text;
  for (std::uint64_t letters = 1 + draw.below(20); letters > 0; --letters)
    if (draw.below(50) == 0)
      append_utf8(static_cast<char32_t>(0xFDD0 + draw.below(32)), text);  // never assigned
    else
      append_code_point(draw, random_ranges_, text);
  return text;
}

bool known_to_unicode(int version, char32_t code_point) {
  const auto c = static_cast<UChar32>(code_point);
  UVersionInfo age;
  u_charAge(c, age);
  return age[0] >= 1 && age[0] <= version && u_charType(c) != U_UNASSIGNED && !U_IS_SURROGATE(c);
}

}  // namespace smelt::text
