// Where the windows of files of tokens lie, in training and in order.
#pragma once

#include <cstdint>
#include <memory>

#include "data/input_pipeline/token_files.h"

namespace smelt {

// A run of tokens of one file.
struct WindowPlace {
  std::size_t file = 0;
  std::uint64_t first = 0, count = 0;
  std::uint64_t end() const { return first + count; }
};

// Windows are numbered along the files. Thread-safe.
class WindowCuts {
 public:
  virtual ~WindowCuts() = default;

  virtual std::uint64_t trained() const = 0;   // windows of an epoch of training
  virtual std::uint64_t in_order() const = 0;  // windows in order
  virtual WindowPlace trained(std::uint64_t window, std::uint64_t epoch) const = 0;
  virtual WindowPlace in_order(std::uint64_t window) const = 0;
  // The tokens that window `window` of training has in any epoch; neighbours of one file overlap or
  // touch.
  virtual WindowPlace reach(std::uint64_t window) const = 0;
};

// Windows of `length` tokens wherever documents end. A file of T tokens has, in each epoch of
// training, max(1, ⌊(T - length + 1) / length⌋) of them behind a skip that is drawn for the file
// and the epoch, less than `length` and no more than the last window allows; none when T < length.
// In order ⌊T / length⌋, the first of which begins at the file's first token. What is left over
// waits for another epoch. UsageError when no file holds a window. The files must outlive it.
std::unique_ptr<WindowCuts> windows_across_documents(const TokenFiles& files, std::uint64_t length,
                                                     std::uint64_t seed);

// Each document by itself from its first token on, in windows of `length` tokens and a last,
// shorter one: the same in training and in order. 16 bytes of memory for each document. UsageError
// for a file that does not tell where documents end.
std::unique_ptr<WindowCuts> windows_within_documents(const TokenFiles& files, std::uint64_t length);

}  // namespace smelt
