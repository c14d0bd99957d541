// An array in the memory of one device. Its values may not be computed yet; reads wait for them.
#pragma once

#include <concepts>
#include <memory>
#include <span>
#include <vector>

#include "compiler/ir/shape.h"
#include "pjrt/client.h"

namespace smelt::pjrt {

// Returns whether T is the host type for a dtype. pred is stored as bytes 0 and 1; bf16 and f16 are
// stored as their bits.
template <class T>
constexpr bool holds(compiler::DType dtype) {
  switch (dtype) {
    case compiler::DType::pred:
    case compiler::DType::u8:
      return std::same_as<T, std::uint8_t>;
    case compiler::DType::s8:
      return std::same_as<T, std::int8_t>;
    case compiler::DType::bf16:
    case compiler::DType::f16:
    case compiler::DType::u16:
      return std::same_as<T, std::uint16_t>;
    case compiler::DType::s32:
      return std::same_as<T, std::int32_t>;
    case compiler::DType::s64:
      return std::same_as<T, std::int64_t>;
    case compiler::DType::u32:
      return std::same_as<T, std::uint32_t>;
    case compiler::DType::u64:
      return std::same_as<T, std::uint64_t>;
    case compiler::DType::f32:
      return std::same_as<T, float>;
    case compiler::DType::f64:
      return std::same_as<T, double>;
  }
  return false;
}

// Returns the PJRT element type for a dtype.
pjrt_abi::ElementType element_type(compiler::DType dtype);

// A device buffer; move-only. After a donation (see Executable::execute) deleted() is true, and the
// object can only be destroyed or assigned. Reading a result of a failed execution throws
// PjrtError.
class Buffer {
 public:
  Buffer(std::shared_ptr<const Client> client, pjrt_abi::Buffer* raw);

  // Returns the shape of the part on this device. Throws SystemError if smelt does not support the
  // element type.
  compiler::Shape shape() const;
  bool deleted() const;
  void await() const;  // waits until the values are available

  // Copies the values in row-major order. `out` must have shape().size_bytes() bytes.
  void copy_to_host(std::span<std::byte> out) const;
  // Starts a copy. `out` must stay valid until the event has been awaited.
  [[nodiscard]] Event start_copy_to_host(std::span<std::byte> out) const;

  // Returns the values in row-major order. T must be the host type of the dtype.
  template <class T>
  std::vector<T> to_host() const {
    const compiler::Shape shape = this->shape();
    CHECK(holds<T>(shape.dtype), shape);
    std::vector<T> out(static_cast<std::size_t>(shape.elements()));
    copy_to_host(std::as_writable_bytes(std::span(out)));
    return out;
  }

  const Client& client() const { return *client_; }
  pjrt_abi::Buffer* raw() const { return handle_.raw(); }

 private:
  // must outlive handle_: members are destroyed in reverse order
  std::shared_ptr<const Client> client_;
  Handle<pjrt_abi::BufferDestroy> handle_;
};

// Copies values to a device. T must be the host type of the dtype.
template <class T>
Buffer to_device(const Client& client, const std::vector<T>& values, const compiler::Shape& shape,
                 int device = 0) {
  CHECK(holds<T>(shape.dtype), shape);
  return client.to_device(std::as_bytes(std::span(values)), shape, device);
}

}  // namespace smelt::pjrt
