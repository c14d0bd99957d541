#include "base/plural.h"

#include <algorithm>

namespace smelt {
namespace {

bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }

}  // namespace

std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, begins_character));
}

std::string shortened(std::string_view text, std::size_t most) {
  if (characters(text) <= most) return std::string(text);
  std::size_t kept = 0, end = 0;
  while (kept < most) kept += begins_character(text[end++]) ? 1 : 0;
  return str(trim(text.substr(0, end - 1)),
             "…");  // `end` is one past the first byte of the last character
}

}  // namespace smelt
