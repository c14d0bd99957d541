#include "runs/packed_batch.h"

#include <algorithm>

#include "runs/mesh_bert.h"

namespace smelt {
data::Batch short_sequences(const io::Features& features, std::int64_t rows, std::uint64_t seed) {
  data::Batch batch = mesh_batch(features, rows, seed);
  const std::size_t mask = data::find_feature(features, "input_mask");
  const std::int64_t S = features[mask].row[0];
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t tokens = 3 + 7 * (row + static_cast<std::int64_t>(seed)) % (S / 2);
    for (std::size_t f = 0; f < features.size(); ++f) {
      if (batch.arrays[f].shape.dtype != compiler::DType::s32) continue;
      const std::int64_t width = batch.arrays[f].shape.elements() / rows;
      const auto own = batch.arrays[f].values<std::int32_t>().subspan(
          static_cast<std::size_t>(row * width), static_cast<std::size_t>(width));
      if (features[f].name == "masked_lm_positions")
        for (std::int32_t& position : own) position %= static_cast<std::int32_t>(tokens);
      else if (f == mask)
        for (std::int64_t i = 0; i < S; ++i) own[static_cast<std::size_t>(i)] = i < tokens ? 1 : 0;
    }
  }
  return batch;
}

data::PackingPlan packing_plan_of(const model::Task& task, const data::Batch& batch,
                                  std::int64_t devices, std::int64_t micro_batches,
                                  std::int64_t rows) {
  const std::size_t mask = data::find_feature(task.features, task.tokens);
  data::PackingPlan plan{.tokens = task.tokens,
                         .length = task.features[mask].row[0],
                         .batch_size = batch.rows,
                         .devices = devices,
                         .micro_batches = micro_batches};
  plan.rows = std::max(
      rows, data::pack_sequences(data::sequence_lengths(batch.arrays[mask]).value(), plan).rows);
  CHECK(plan.rows < plan.shard_size(), plan.rows, " rows");
  return plan;
}

}  // namespace smelt
