// The named constants of a node (axes, dimension numbers, a comparison's direction …).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "compiler/ir/shape.h"

namespace smelt {

// For each dimension of a value the names of mesh axes that split it, major first.
using DimAxes = std::vector<std::vector<std::string>>;

// int64, element type, list of int64, mesh axes, raw literal bytes in row-major order (constants).
using Attr = std::variant<std::int64_t, DType, Dims, DimAxes, std::vector<std::byte>>;

class Attrs {
 public:
  Attrs() = default;
  Attrs(std::initializer_list<std::pair<const std::string_view, Attr>> items) : items_(items) {}

  // A missing name or another type is a bug of the op that asks.
  std::int64_t integer(std::string_view name) const;
  DType dtype(std::string_view name) const;
  const Dims& dims(std::string_view name) const;
  const DimAxes& axes(std::string_view name) const;
  const std::vector<std::byte>& bytes(std::string_view name) const;

 private:
  const Attr& at(std::string_view name) const;
  std::map<std::string_view, Attr> items_;  // keys are string literals
};

}  // namespace smelt
