// What a fuzz driver defines for the common main (fuzz_main.cpp), besides LLVMFuzzerTestOneInput.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace smelt {

struct FuzzTarget {
  std::vector<std::string> seeds;  // valid inputs
  std::vector<std::string> words;  // byte sequences that have a meaning in the format
  // Recomputes checksums after a mutation; without it nearly every mutation fails at the first
  // check. May be empty.
  std::function<void(std::string&)> repair;
  // Limit of the memory allocated at one time: base + factor * bytes of input.
  std::size_t memory_base = 0, memory_factor = 0;
};

FuzzTarget fuzz_target();

// Writes the input to a file, for parsers that read by path, and returns its path. The path is the
// same for each call with this suffix; the file is removed when the program exits.
const std::string& input_file(const std::uint8_t* data, std::size_t size,
                              const std::string& suffix);

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace smelt

// Runs one input. UsageError is the correct result for an invalid input and must be caught inside;
// every other exception is a finding.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
