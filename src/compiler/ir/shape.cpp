#include "compiler/ir/shape.h"

#include <array>
#include <functional>
#include <numeric>

#include "base/str.h"

namespace smelt::compiler {
namespace {

struct DTypeInfo {
  std::string_view name;
  std::size_t size_bytes;
  enum Kind { kPred, kSigned, kUnsigned, kFloat } kind;
};

constexpr std::array<DTypeInfo, 12> kInfo{{{"i1", 1, DTypeInfo::kPred},
                                           {"i8", 1, DTypeInfo::kSigned},
                                           {"i32", 4, DTypeInfo::kSigned},
                                           {"i64", 8, DTypeInfo::kSigned},
                                           {"ui8", 1, DTypeInfo::kUnsigned},
                                           {"ui16", 2, DTypeInfo::kUnsigned},
                                           {"ui32", 4, DTypeInfo::kUnsigned},
                                           {"ui64", 8, DTypeInfo::kUnsigned},
                                           {"bf16", 2, DTypeInfo::kFloat},
                                           {"f16", 2, DTypeInfo::kFloat},
                                           {"f32", 4, DTypeInfo::kFloat},
                                           {"f64", 8, DTypeInfo::kFloat}}};

const DTypeInfo& info(DType dtype) { return kInfo[static_cast<std::size_t>(dtype)]; }

}  // namespace

std::string_view dtype_name(DType dtype) { return info(dtype).name; }
std::size_t dtype_size_bytes(DType dtype) { return info(dtype).size_bytes; }
bool is_float(DType dtype) { return info(dtype).kind == DTypeInfo::kFloat; }
bool is_integer(DType dtype) {
  return info(dtype).kind == DTypeInfo::kSigned || info(dtype).kind == DTypeInfo::kUnsigned;
}
bool is_signed(DType dtype) { return info(dtype).kind == DTypeInfo::kSigned || is_float(dtype); }

std::int64_t Shape::elements() const {
  return std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, std::multiplies<>());
}

std::string dims_text(const Dims& dims) { return str("[", join(dims, ","), "]"); }

std::ostream& operator<<(std::ostream& out, DType dtype) { return out << dtype_name(dtype); }

std::ostream& operator<<(std::ostream& out, const Shape& shape) {
  return out << shape.dtype << dims_text(shape.dims);
}

}  // namespace smelt::compiler
