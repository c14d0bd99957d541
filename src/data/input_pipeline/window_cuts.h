// Positions of the windows in files of tokens, for training (with random skips) and in file order
// (for evaluation).
#pragma once

#include <cstdint>
#include <memory>

#include "data/input_pipeline/token_files.h"

namespace smelt::data {

// A range of tokens in one file.
struct WindowPlace {
  std::size_t file = 0;
  std::uint64_t first = 0, count = 0;
  std::uint64_t end() const { return first + count; }
};

// Splits files into windows, which are numbered in file order. Thread-safe.
class WindowCuts {
 public:
  virtual ~WindowCuts() = default;

  virtual std::uint64_t trained() const = 0;   // windows per training epoch
  virtual std::uint64_t in_order() const = 0;  // windows in file order
  virtual WindowPlace trained(std::uint64_t window, std::uint64_t epoch) const = 0;
  virtual WindowPlace in_order(std::uint64_t window) const = 0;
  // Returns all tokens that training window `window` can have in any epoch. The ranges of adjacent
  // windows of a file overlap or touch.
  virtual WindowPlace reach(std::uint64_t window) const = 0;
};

// Splits files into windows of `length` tokens regardless of document ends. In each training epoch,
// the first window of a file begins after a random skip of fewer than `length` tokens. A file of T
// tokens has max(1, ⌊(T - length + 1) / length⌋) training windows, or none if T < length; the skip
// is limited so that all of them fit. In file order it has ⌊T / length⌋ windows without a skip.
// Tokens outside the windows are not used in that epoch. Throws UsageError if no file has a window.
// The files must outlive the result.
std::unique_ptr<WindowCuts> windows_across_documents(const TokenFiles& files, std::uint64_t length,
                                                     std::uint64_t seed);

// Splits each document from its first token on into windows of `length` tokens and a shorter last
// one, both for training and for evaluation. Needs 16 bytes of memory per document. Throws
// UsageError if a file does not store document ends.
std::unique_ptr<WindowCuts> windows_within_documents(const TokenFiles& files, std::uint64_t length);

}  // namespace smelt::data
