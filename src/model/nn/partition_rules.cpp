#include "model/nn/partition_rules.h"

#include <algorithm>
#include <set>

#include "base/error.h"

namespace smelt::model {

using compiler::axis_size;
using compiler::DimAxes;
using compiler::Dims;

DimNames dims_by_end(const std::vector<NamedDims>& table, std::string_view parameter,
                     std::int64_t head_size) {
  for (auto [end, dims] : table) {
    if (!parameter.ends_with(end)) continue;
    for (DimName& dim : dims)
      if (dim.name == "heads") dim.unit = head_size;
    return dims;
  }
  return {};
}

std::int64_t PartitionRules::size(std::string_view axis) const {
  return std::max<std::int64_t>(axis_size(mesh, axis), 1);
}

std::vector<std::string> PartitionRules::row_axes() const {
  std::vector<std::string> out;
  for (const char* axis : {"data", "fsdp"})
    if (size(axis) > 1) out.emplace_back(axis);
  return out;
}

std::string PartitionRules::axis_of(std::string_view dim, bool use) const {
  const auto rule = rules.find(dim);
  if (rule == rules.end() || size(rule->second) == 1) return "";
  return use && rule->second == "fsdp" ? "" : rule->second;
}

bool PartitionRules::splits_in_use(std::string_view dim) const {
  return !axis_of(dim, true).empty();
}

DimAxes PartitionRules::axes(std::string_view parameter, std::int64_t rank, bool use,
                             bool slots) const {
  DimAxes out(static_cast<std::size_t>(rank));
  const DimNames dims = names ? names(parameter) : DimNames();
  if (dims.empty()) return out;
  const auto leading = rank - std::ssize(dims);  // dimension of stacked layers
  CHECK(leading == 0 || leading == 1, parameter, ": ", dims.size(), " names for rank ", rank);
  for (std::size_t i = 0; i < dims.size(); ++i) {
    std::vector<std::string>& of_dim = out[i + static_cast<std::size_t>(leading)];
    if (std::string axis = axis_of(dims[i].name, use); !axis.empty()) of_dim.push_back(axis);
    if (slots && dims[i].name == "embed" && size("data") > 1) of_dim.emplace_back("data");
  }
  return out;
}

void PartitionRules::check(std::string_view parameter, const Dims& dims) const {
  const DimAxes split = of_slots(parameter, std::ssize(dims));
  const DimNames known = names ? names(parameter) : DimNames();
  std::set<std::string> taken;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (split[i].empty()) continue;
    const auto& [name, unit] = known[i + known.size() - dims.size()];
    std::int64_t devices = 1;
    for (const std::string& axis : split[i]) {
      devices *= size(axis);
      if (!taken.insert(axis).second)
        throw UsageError(str("mesh: axis '", axis, "' splits two dimensions of ", parameter),
                         str("set the rule ", name, "=none so that it splits only one"));
    }
    if (dims[i] / unit % devices == 0) continue;
    throw UsageError(
        str("mesh: dimension ", i, " ('", name, "') of ", parameter, " is ", dims[i] / unit,
            ", which ", devices, " devices of axis '", join(split[i], "', '"), "' do not divide"),
        str("choose another mesh, or set the rule ", name, "=none to replicate it"));
  }
}

DimAxes PartitionRules::at_rest(std::string_view parameter, std::int64_t rank) const {
  return axes(parameter, rank, false, false);
}

DimAxes PartitionRules::in_use(std::string_view parameter, std::int64_t rank) const {
  return axes(parameter, rank, true, false);
}

DimAxes PartitionRules::of_slots(std::string_view parameter, std::int64_t rank) const {
  return axes(parameter, rank, false, split_slots);
}

}  // namespace smelt::model
