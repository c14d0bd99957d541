// Texts in many scripts, generated as tools/golden_scripts.py does from the lists in
// tests/golden/scripts.json.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"

namespace smelt::text {

// splitmix64 (Steele, Lea and Flood 2014).
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : state_(seed) {}
  std::uint64_t below(std::uint64_t count);

 private:
  std::uint64_t state_;
};

class ScriptTexts {
 public:
  ScriptTexts();

  const OrderedJson& golden() const { return golden_; }
  std::vector<std::string> names() const;
  // Returns lines with words of the script and random letters of its blocks, in total `bytes` bytes
  // or slightly more.
  std::vector<std::string> lines(const std::string& name, std::uint64_t seed,
                                 std::size_t bytes) const;
  // Returns a string of random code points known to Unicode 14.
  std::string random_string(Draw& draw) const;

 private:
  using Ranges = std::vector<std::pair<std::uint32_t, std::uint32_t>>;
  struct Script {
    std::vector<std::string> words;
    Ranges ranges;
  };
  std::string line(Draw& draw, const Script& script) const;

  OrderedJson golden_;
  std::vector<std::string> separators_;
  Ranges random_ranges_;
};

// Returns whether Unicode `version` has the code point. ICU may be newer than the tables of other
// programs; Python 3.11 has those of Unicode 14.
bool known_to_unicode(int version, char32_t code_point);

}  // namespace smelt::text
