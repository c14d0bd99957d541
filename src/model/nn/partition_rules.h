// How parameters lie on a mesh of devices. A model names the dimensions of its parameters; rules
// give each name the mesh axis that splits it.
//   data    splits the batch alone
//   fsdp    splits the batch, and parameters at rest: gathered where they are used (ZeRO-3,
//           Rajbhandari et al. 2020)
//   tensor  splits heads, the feed-forward layer and the vocabulary (Shoeybi et al. 2019)
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/mesh.h"

namespace smelt {

// What a dimension of a parameter is; "" for one that is never split. It is cut at multiples of
// `unit` only: heads by whole heads.
struct DimName {
  DimName(const char* text, std::int64_t of = 1) : name(text), unit(of) {}
  std::string name;
  std::int64_t unit;
};
using DimNames = std::vector<DimName>;  // empty: no dimension is split

// The dimensions of parameters by how their names end; the first entry that fits counts.
struct NamedDims {
  std::string_view end;
  DimNames dims;
};
// None where no entry fits. "heads" are cut at multiples of `head_size`.
DimNames dims_by_end(const std::vector<NamedDims>& table, std::string_view parameter,
                     std::int64_t head_size);

struct PartitionRules {
  Mesh mesh = {};  // axes above 1 only; empty: nothing is split
  std::map<std::string, std::string, std::less<>> rules = {
      {"embed", "fsdp"}, {"heads", "tensor"}, {"mlp", "tensor"}, {"vocab", "tensor"}};
  std::function<DimNames(std::string_view parameter)> names = {};
  bool of_shard = false;     // within one shard of an axis that the mesh has no more
  bool split_slots = false;  // what the optimizer keeps also over data (ZeRO-1)

  std::int64_t size(std::string_view axis) const;  // 1 for one that the mesh has not
  // Whether dimensions of this name are split where they are used: over fsdp they are gathered.
  bool splits_in_use(std::string_view dim) const;
  // The axes that split the rows of a batch.
  std::vector<std::string> row_axes() const;
  std::int64_t row_shards() const { return size("data") * size("fsdp"); }

  // The axes that split a parameter of `rank` dimensions, those of a stack of layers counted.
  DimAxes at_rest(std::string_view parameter, std::int64_t rank) const;
  DimAxes in_use(std::string_view parameter, std::int64_t rank) const;
  DimAxes of_slots(std::string_view parameter, std::int64_t rank) const;

  // UsageError where an axis does not divide a dimension of the parameter (both values), or splits
  // two of them.
  void check(std::string_view parameter, const Dims& dims) const;

 private:
  // The axis that splits dimensions of this name; "" for none.
  std::string axis_of(std::string_view dim, bool use) const;
  DimAxes axes(std::string_view parameter, std::int64_t rank, bool use, bool slots) const;
};

}  // namespace smelt
