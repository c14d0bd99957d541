// What a fuzz driver gives to the common main (fuzz_main.cpp) beside LLVMFuzzerTestOneInput.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace smelt {

struct FuzzTarget {
  std::vector<std::string> seeds;  // inputs that are right
  std::vector<std::string> words;  // that the format gives a meaning
  // Makes checksums right again, without which nearly every change ends at the first check; may be
  // empty.
  std::function<void(std::string&)> repair;
  // A run may have so much memory at a time: base + factor * bytes of input.
  std::size_t memory_base = 0, memory_factor = 0;
};

FuzzTarget fuzz_target();

// The input as a file, for parsers that read by path; the same path for a suffix each time, removed
// at the end.
const std::string& input_file(const std::uint8_t* data, std::size_t size,
                              const std::string& suffix);

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace smelt

// Takes one input. UsageError is the right answer to a wrong input and is caught inside; anything
// else is a finding.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
