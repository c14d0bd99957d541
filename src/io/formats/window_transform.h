// A transformation of token windows between the source, which cuts windows, and the batch, such as
// adding noise.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "base/json.h"

namespace smelt::io {

// Keys what is drawn for one window: the run's seed or evaluation, and the example's place in
// their order. No two examples of a run have the same.
struct WindowKey {
  std::uint64_t key = 0, place = 0;
};

struct WindowTransform {
  std::int64_t tokens = 0;  // of a window, at most
  // Whether windows may reach from one document into the next, or end with a document, whose last
  // one is shorter.
  bool across_documents = true;
  Json settings;  // whatever examples depend on beside tokens and keys: an object

  // One example's numbers, an array for each of the task's features, which are all s32.
  using Arrays = std::span<const std::span<std::int32_t>>;
  // Sets an example's numbers, which are zeros before. A function of its arguments; thread-safe.
  std::function<void(std::span<const std::int32_t> window, const WindowKey& key, Arrays example)>
      make;
};

}  // namespace smelt::io
