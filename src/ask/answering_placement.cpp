#include "ask/answering_placement.h"

namespace smelt {

Placement answering_placement(std::string_view platform, std::int64_t devices,
                              const MeshChoice& mesh, const DimNamesOf& names) {
  Partition partition = partition_for(mesh, devices, flag);
  Placement out = placement_for(platform, devices, Reduction::global);
  out.spread = Spread::mesh;
  out.partition = std::move(partition);
  out.partition.names = names;
  return out;
}

}  // namespace smelt
