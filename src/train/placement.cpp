#include "train/placement.h"

#include <optional>

#include "base/choice.h"
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
          .ordered_sums = cpu,
          .sums_as_products = cpu};
}

Compute compute_for(std::string_view platform, const ComputeChoice& choice,
                    const std::string& where) {
  const bool cpu = platform == "cpu";
  const auto layers = choose<std::optional<Layers>>(
      where + ".layers", choice.layers,
      {{"auto", {}}, {"unrolled", Layers::unrolled}, {"scan", Layers::scan}});
  const auto save = choose<std::optional<Save>>(
      where + ".save", choice.save,
      {{"auto", {}}, {"all", Save::all}, {"products", Save::products}, {"layer", Save::layer}});
  Compute out;
  out.dtype = choose<DType>(where + ".precision", choice.precision,
                            {{"f32", DType::f32}, {"bf16", DType::bf16}});
  out.joined_products = cpu;
  out.layers = layers.value_or(cpu ? Layers::unrolled : Layers::scan);
  out.save = save.value_or(out.layers == Layers::scan ? Save::products : Save::all);
  if (out.layers == Layers::unrolled && out.save != Save::all)
    throw UsageError(
        str(where, ".save '", choice.save, "' with ", where, ".layers 'unrolled', which keep all"),
        str("set ", where, ".layers to scan"));
  return out;
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
