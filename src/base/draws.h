// Base class (CRTP) of random generators: derives other draws from the generator's below(limit),
// which is uniform in [0, limit).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace smelt {

template <class Random>
class Draws {
 public:
  // Returns a uniform integer in [first, last], both included. The range must hold fewer than 2^32
  // values.
  std::int64_t randint(std::int64_t first, std::int64_t last) {
    return first + below(static_cast<std::uint32_t>(last - first + 1));
  }
  template <class T>
  void shuffle(std::span<T> items) {
    for (std::size_t i = items.size(); i-- > 1;)
      std::swap(items[i], items[below(static_cast<std::uint32_t>(i + 1))]);
  }

 private:
  friend Random;
  Draws() = default;
  std::uint32_t below(std::uint32_t limit) { return static_cast<Random*>(this)->below(limit); }
};

}  // namespace smelt
