// Sharding of parameters over a device mesh. A model names the dimensions of its parameters, and
// rules map each name to a mesh axis.
//   data    shards only the batch
//   fsdp    shards the batch, and parameters while they are not used; they are gathered for use
//           (ZeRO-3, Rajbhandari et al. 2020)
//   tensor  shards heads, the feed-forward layer and the vocabulary (Shoeybi et al. 2019)
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/mesh.h"

namespace smelt::model {

// The name of a parameter's dimension; "" if the dimension is never sharded. The size of a shard is
// a multiple of `unit`, so that a head is not split over devices.
struct DimName {
  DimName(const char* text, std::int64_t of = 1) : name(text), unit(of) {}
  std::string name;
  std::int64_t unit;
};
using DimNames = std::vector<DimName>;  // empty: no dimension is sharded

// A line of a table of dimension names: `dims` applies to parameters whose names end with `end`.
struct NamedDims {
  std::string_view end;
  DimNames dims;
};
// Returns `dims` of the first line of the table that matches the parameter, or an empty list if
// none does. Sets the unit of "heads" to `head_size`.
DimNames dims_by_end(const std::vector<NamedDims>& table, std::string_view parameter,
                     std::int64_t head_size);

// The sharding rules of a model on a mesh.
struct PartitionRules {
  compiler::Mesh mesh = {};  // only axes larger than 1; empty: no sharding
  std::map<std::string, std::string, std::less<>> rules = {
      {"embed", "fsdp"}, {"heads", "tensor"}, {"mlp", "tensor"}, {"vocab", "tensor"}};
  std::function<DimNames(std::string_view parameter)> names = {};
  bool of_shard = false;     // for the inside of per_shard(), whose axis was removed from `mesh`
  bool split_slots = false;  // also shards optimizer slots over "data" (ZeRO-1)

  std::int64_t size(std::string_view axis) const;  // 1 if the mesh has no such axis
  // Returns whether dimensions of this name are sharded while the parameter is used. Dimensions
  // that are sharded over fsdp are gathered for use, so the result is false for them.
  bool splits_in_use(std::string_view dim) const;
  // Returns the axes that shard the rows of a batch.
  std::vector<std::string> row_axes() const;
  std::int64_t row_shards() const { return size("data") * size("fsdp"); }

  // Return the mesh axes that shard each of the `rank` dimensions of a parameter: between its uses,
  // in use, and those of its optimizer slots. The dimension of stacked layers counts in `rank`.
  compiler::DimAxes at_rest(std::string_view parameter, std::int64_t rank) const;
  compiler::DimAxes in_use(std::string_view parameter, std::int64_t rank) const;
  compiler::DimAxes of_slots(std::string_view parameter, std::int64_t rank) const;

  // Throws UsageError if an axis does not divide a dimension of the parameter, or splits two of
  // them.
  void check(std::string_view parameter, const compiler::Dims& dims) const;

 private:
  // Returns the axis that shards dimensions of this name, or "".
  std::string axis_of(std::string_view dim, bool use) const;
  compiler::DimAxes axes(std::string_view parameter, std::int64_t rank, bool use, bool slots) const;
};

}  // namespace smelt::model
