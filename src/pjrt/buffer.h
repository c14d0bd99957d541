// An array in the memory of one device. It may still be being computed: reading waits for that.
#pragma once

#include <concepts>
#include <memory>
#include <span>
#include <vector>

#include "compiler/ir/shape.h"
#include "pjrt/client.h"
#include "pjrt/event.h"

namespace smelt {

// Whether T is how the host holds a dtype's values: pred as bytes 0 and 1, bf16 and f16 as bits.
template <class T>
constexpr bool holds(DType dtype) {
  switch (dtype) {
    case DType::pred:
    case DType::u8:
      return std::same_as<T, std::uint8_t>;
    case DType::s8:
      return std::same_as<T, std::int8_t>;
    case DType::bf16:
    case DType::f16:
    case DType::u16:
      return std::same_as<T, std::uint16_t>;
    case DType::s32:
      return std::same_as<T, std::int32_t>;
    case DType::s64:
      return std::same_as<T, std::int64_t>;
    case DType::u32:
      return std::same_as<T, std::uint32_t>;
    case DType::u64:
      return std::same_as<T, std::uint64_t>;
    case DType::f32:
      return std::same_as<T, float>;
    case DType::f64:
      return std::same_as<T, double>;
  }
  return false;
}

pjrt::ElementType element_type(DType dtype);

// A move-only handle. After a donation (see Executable::execute) it is deleted(): only destruction
// and assignment remain. Reading a result of a failed execution throws PjrtError with the plugin's
// text.
class Buffer {
 public:
  Buffer(std::shared_ptr<const Client> client, pjrt::Buffer* raw);

  // Of this device's part. SystemError for an element type that smelt does not know.
  Shape shape() const;
  bool deleted() const;
  void await() const;  // until the values are there

  // Row-major values. BugError when `out` is not of shape().size_bytes().
  void copy_to_host(std::span<std::byte> out) const;
  // Starts the copy; `out` belongs to it until the event has been awaited.
  [[nodiscard]] Event start_copy_to_host(std::span<std::byte> out) const;

  template <class T>
  std::vector<T> to_host() const {
    const Shape shape = this->shape();
    CHECK(holds<T>(shape.dtype), shape);
    std::vector<T> out(static_cast<std::size_t>(shape.elements()));
    copy_to_host(std::as_writable_bytes(std::span(out)));
    return out;
  }

  const Client& client() const { return *client_; }
  pjrt::Buffer* raw() const { return handle_.raw(); }

 private:
  std::shared_ptr<const Client> client_;  // outlives the handle: members die in reverse order
  Handle<pjrt::BufferDestroy> handle_;
};

template <class T>
Buffer to_device(const Client& client, const std::vector<T>& values, const Shape& shape,
                 int device = 0) {
  CHECK(holds<T>(shape.dtype), shape);
  return client.to_device(std::as_bytes(std::span(values)), shape, device);
}

}  // namespace smelt
