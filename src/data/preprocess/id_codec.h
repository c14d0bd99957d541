// Encodes token ids in temporary files with two bytes if the vocabulary is small enough, and four
// otherwise.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/error.h"

namespace smelt::data {

// Appends the bytes of a trivially copyable value.
template <class T>
void put_value(const T& value, std::string& out) {
  static_assert(std::is_trivially_copyable_v<T>);
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}
template <class T>
T take_value(std::string_view& from) {
  static_assert(std::is_trivially_copyable_v<T>);
  CHECK(from.size() >= sizeof(T));
  T value;
  from.copy(reinterpret_cast<char*>(&value), sizeof value);
  from.remove_prefix(sizeof value);
  return value;
}

class IdCodec {
 public:
  explicit IdCodec(std::int64_t vocab_size) : narrow_(vocab_size <= 1 << 16) {}

  std::size_t bytes(std::size_t ids) const { return ids * (narrow_ ? 2 : 4); }
  void put(std::span<const std::int32_t> ids, std::string& out) const {
    narrow_ ? put_as<std::uint16_t>(ids, out) : put_as<std::int32_t>(ids, out);
  }
  // Removes `count` ids from the beginning of `from` and appends them to `ids`.
  void take(std::string_view& from, std::size_t count, std::vector<std::int32_t>& ids) const {
    CHECK(from.size() >= bytes(count));
    narrow_ ? take_as<std::uint16_t>(from, count, ids) : take_as<std::int32_t>(from, count, ids);
    from.remove_prefix(bytes(count));
  }

 private:
  template <class T>
  static void put_as(std::span<const std::int32_t> ids, std::string& out) {
    const std::size_t at = out.size();
    out.resize(at + ids.size() * sizeof(T));
    char* to = out.data() + at;
    for (const std::int32_t id : ids) {
      const T value = static_cast<T>(id);
      std::memcpy(to, &value, sizeof value);
      to += sizeof value;
    }
  }
  template <class T>
  static void take_as(std::string_view from, std::size_t count, std::vector<std::int32_t>& ids) {
    const std::size_t at = ids.size();
    ids.resize(at + count);
    for (std::size_t i = 0; i < count; ++i) {
      T value;
      std::memcpy(&value, from.data() + i * sizeof value, sizeof value);
      ids[at + i] = value;
    }
  }

  bool narrow_;
};

}  // namespace smelt::data
