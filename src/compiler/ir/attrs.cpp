#include "compiler/ir/attrs.h"

#include "base/error.h"

namespace smelt::compiler {

const Attr& Attrs::at(std::string_view name) const {
  const auto found = items_.find(name);
  CHECK(found != items_.end(), "no attribute ", name);
  return found->second;
}

std::int64_t Attrs::integer(std::string_view name) const {
  return std::get<std::int64_t>(at(name));
}
DType Attrs::dtype(std::string_view name) const { return std::get<DType>(at(name)); }
const Dims& Attrs::dims(std::string_view name) const { return std::get<Dims>(at(name)); }
const DimAxes& Attrs::axes(std::string_view name) const { return std::get<DimAxes>(at(name)); }
const std::vector<std::byte>& Attrs::bytes(std::string_view name) const {
  return std::get<std::vector<std::byte>>(at(name));
}

}  // namespace smelt::compiler
