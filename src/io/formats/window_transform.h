// A transformation that is applied to token windows before they become examples of a batch, such as
// adding noise.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "base/json.h"

namespace smelt::io {

// The key of the random numbers for one window. It depends on the seed, on whether the window is
// for training or evaluation, and on the position of its example among all training or evaluation
// examples, so each example of a run has a different key.
struct WindowKey {
  std::uint64_t key = 0, place = 0;
};

struct WindowTransform {
  std::int64_t tokens = 0;  // maximum tokens of a window
  // If true, a window may continue into the next document. If false, windows end with their
  // document, whose last window may be shorter.
  bool across_documents = true;
  Json settings;  // an object with the settings that determine the examples

  // The numbers of one example: an array for each feature, all of type s32.
  using Arrays = std::span<const std::span<std::int32_t>>;
  // Sets the numbers of an example, which are zeros before the call. The result depends only on the
  // arguments; thread-safe.
  std::function<void(std::span<const std::int32_t> window, const WindowKey& key, Arrays example)>
      make;
};

}  // namespace smelt::io
