#include "fuzz/mutate.h"

#include <algorithm>
#include <cstdint>

namespace smelt {
namespace {

constexpr std::size_t kMostBytes = 8192;

}  // namespace

std::string Mutator::mutate(std::string input, const std::string& other) {
  do change(input, other);
  while (below(2) == 0);
  if (input.size() > kMostBytes) input.resize(kMostBytes);
  return input;
}

void Mutator::change(std::string& input, const std::string& other) {
  const std::size_t at = below(input.size() + 1);
  switch (below(8)) {
    case 0:
      input.insert(at, number());
      break;
    case 1: {  // overwrite bytes with a number
      const std::string value = number();
      input.replace(at, value.size(), value);
      break;
    }
    case 2:
      if (!words_.empty()) input.insert(at, words_[below(words_.size())]);
      break;
    case 3:
      change_run(input, other);
      break;
    default:
      change_byte(input);
  }
}

void Mutator::change_byte(std::string& input) {
  if (input.empty()) return;
  char& byte = input[below(input.size())];
  byte = static_cast<char>(below(2) == 0 ? byte ^ (1 << below(8)) : static_cast<int>(below(256)));
}

// Truncates the input, removes or duplicates a run of bytes, or inserts a run of `other`.
void Mutator::change_run(std::string& input, const std::string& other) {
  const std::size_t at = below(input.size() + 1);
  const std::size_t size = 1 + below(std::size_t{1} << below(9));
  switch (below(4)) {
    case 0:
      input.resize(at);
      break;
    case 1:
      input.erase(at, size);
      break;
    case 2:
      input.insert(below(input.size() + 1), input.substr(at, size));
      break;
    default:
      input.insert(at, other.substr(below(other.size() + 1), size));
  }
}

// Returns a number next to a power of two, its complement, or a small number, in 1, 2, 4 or 8 bytes
// or as a varint.
std::string Mutator::number() {
  std::uint64_t value = (std::uint64_t{1} << below(64)) + below(3) - 1;
  if (below(4) == 0) value = ~value;
  if (below(4) == 0) value = below(64);
  std::string out;
  const std::size_t form = below(5);
  if (form < 4) {
    for (std::size_t i = 0; i < std::size_t{1} << form; ++i)
      out.push_back(static_cast<char>(value >> (8 * i)));
    return out;
  }
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
  return out;
}

}  // namespace smelt
