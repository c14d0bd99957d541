#include "train/placement.h"

#include "base/error.h"
#include "ops/ops.h"

namespace smelt {
namespace {

// The rows of x [D, n], added one after another: [n].
Tensor add_rows(Tensor x) {
  const auto n = x.dim(1);
  Tensor sum;
  for (std::int64_t row = 0; row < x.dim(0); ++row) {
    const Tensor part = reshape(slice_axis(x, 0, row, row + 1), {n});
    sum = sum ? sum + part : part;
  }
  return sum;
}

// Each replica adds up its own part of x, then all get all parts: of each tensor a replica holds
// its own copy twice, not all copies.
Tensor ordered_sum(Tensor x, std::int64_t replicas) {
  const std::int64_t count = x.shape().elements();
  const std::int64_t part = (count + replicas - 1) / replicas, whole = part * replicas;
  Tensor flat = reshape(x, {count});
  if (whole > count) flat = pad(flat, 0, {0}, {whole - count});
  const Tensor mine = all_to_all(reshape(flat, {replicas, part}), 0, 0, replicas);
  const Tensor sums = all_gather(add_rows(mine), 0, replicas);
  return reshape(whole > count ? slice_axis(sums, 0, 0, count) : sums, x.dims());
}

}  // namespace

Placement placement_for(std::string_view platform, std::int64_t devices, Reduction reduction) {
  const bool cpu = platform == "cpu";
  const bool replicas = reduction == Reduction::per_replica || (cpu && devices > 1);
  return {.devices = devices,
          .spread = replicas ? Spread::replicas : Spread::mesh,
          .ordered_sums = cpu};
}

CompileOptions compile_options(const Placement& placement) {
  CompileOptions options;
  const int devices = static_cast<int>(placement.devices);
  (placement.spread == Spread::replicas ? options.num_replicas : options.num_partitions) = devices;
  return options;
}

Tensor sum_over_replicas(Tensor x, const Placement& placement) {
  const std::int64_t replicas = placement.replicas();
  if (replicas == 1) return x;
  return placement.ordered_sums ? ordered_sum(x, replicas) : all_reduce_sum(x, replicas);
}

}  // namespace smelt
