// Named constant attributes of a node, such as axes or a comparison direction.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "compiler/ir/shape.h"

namespace smelt::compiler {

// The names of the mesh axes that split each dimension of a value, major first.
using DimAxes = std::vector<std::vector<std::string>>;

// An integer, an element type, a list of integers, mesh axes, or the raw bytes of a literal in
// row-major order.
using Attr = std::variant<std::int64_t, DType, Dims, DimAxes, std::vector<std::byte>>;

// A map from attribute names to values.
class Attrs {
 public:
  Attrs() = default;
  Attrs(std::initializer_list<std::pair<const std::string_view, Attr>> items) : items_(items) {}

  // Return the attribute of this name. A missing attribute or one of another type is a bug.
  std::int64_t integer(std::string_view name) const;
  DType dtype(std::string_view name) const;
  const Dims& dims(std::string_view name) const;
  const DimAxes& axes(std::string_view name) const;
  const std::vector<std::byte>& bytes(std::string_view name) const;

 private:
  const Attr& at(std::string_view name) const;
  std::map<std::string_view, Attr> items_;  // keys are string literals
};

}  // namespace smelt::compiler
