// Element types and static shapes.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <ostream>
#include <string_view>
#include <vector>

namespace smelt::compiler {

enum class DType : std::uint8_t { pred, s8, s32, s64, u8, u16, u32, u64, bf16, f16, f32, f64 };

// Returns the StableHLO name: i1, i8, i32, i64, ui8, ui16, ui32, ui64, bf16, f16, f32 or f64.
std::string_view dtype_name(DType dtype);
std::size_t dtype_size_bytes(DType dtype);
bool is_float(DType dtype);
bool is_integer(DType dtype);  // signed or unsigned; pred is neither
bool is_signed(DType dtype);

using Dims = std::vector<std::int64_t>;

// Element type and dimensions of a tensor.
struct Shape {
  DType dtype = DType::f32;
  Dims dims;

  std::int64_t rank() const { return static_cast<std::int64_t>(dims.size()); }
  std::int64_t elements() const;
  std::size_t size_bytes() const { return elements() * dtype_size_bytes(dtype); }
  bool operator==(const Shape&) const = default;
};

// Prints "f32[8,128]".
std::ostream& operator<<(std::ostream& out, const Shape& shape);
std::ostream& operator<<(std::ostream& out, DType dtype);
// Returns "[8,128]".
std::string dims_text(const Dims& dims);

}  // namespace smelt::compiler
