// How a step is spread over devices: the one place where training chooses by platform.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/field_names.h"
#include "compiler/stablehlo/writer.h"
#include "model/nn/scope.h"

namespace smelt {

// Where the loss is normalised and the gradient clipped when several devices share a batch.
//   global       one loss over the whole batch; the clip sees the gradient of all devices (default)
//   per_replica  the original BERT's order: each device normalises its own loss and clips its own
//                gradient, then the gradients are summed (not averaged) over the devices
enum class Reduction { global, per_replica };

enum class Parallelism {
  mesh,      // one program over all devices; XLA's partitioner places the collectives
  replicas,  // a program a device, with collectives of our own
};

struct ShardingPlan {
  std::int64_t devices = 1;
  Parallelism spread = Parallelism::mesh;
  // Sums over replicas are added in the replicas' order, the same bits every time. Else by the
  // platform's own all-reduce.
  bool ordered_sums = false;
  HloForm form = {};              // but for its exact_products, which a Compute says
  PartitionRules partition = {};  // of one program over a mesh

  std::int64_t replicas() const { return spread == Parallelism::replicas ? devices : 1; }
  // How many shards a batch has, and which of them a device holds.
  std::int64_t row_shards() const {
    return spread == Parallelism::replicas ? devices : partition.row_shards();
  }
  std::int64_t row_shard(std::int64_t device) const { return device / (devices / row_shards()); }
};

// The CPU plugin's all-reduce adds in order of arrival, so there a batch is shared by replicas with
// ordered sums; elsewhere by a mesh, unless the reduction is per replica. A mesh that splits
// parameters is one everywhere (on the CPU two runs over it may differ in their last bits).
ShardingPlan placement_for(std::string_view platform, std::int64_t devices, Reduction reduction,
                           PartitionRules partition = {});

// A mesh in a recipe's words: "auto" (all devices share the batch) or "data=2,fsdp=2,tensor=2"; and
// rules that differ from the model's own, "vocab=none". UsageError: an unknown
// axis, one named twice, sizes that do not multiply to the devices.
struct MeshChoice {
  std::string mesh = "auto", rules = "";
  bool split_slots = false;
};
PartitionRules partition_for(const MeshChoice& choice, std::int64_t devices,
                             const Fields& fields = recipe_field);

enum class Precision { f32, f32_exact, bf16 };

// How a model is computed; what is not chosen is as the platform wants.
struct ComputeOptions {
  Precision precision = Precision::f32;
  std::optional<Layers> layers = {};
  std::optional<RematPolicy> save = {};
  std::int64_t attention_rows = 0;
  std::int64_t logits_mb = 128;
};

// A user's words; "auto" chooses nothing. UsageError beginning with `where` for an unknown one.
Precision parse_precision(std::string_view where, std::string_view word);
std::string name(Precision precision);
std::optional<Layers> parse_layers(std::string_view where, std::string_view word);
std::optional<RematPolicy> parse_save(std::string_view where, std::string_view word);
std::string name(Reduction reduction);
Reduction parse_reduction(std::string_view where, std::string_view word);

// Layers not chosen are unrolled on the CPU, where a loop's stacked values would be copied, and
// elsewhere a scan that saves products; saving less than all makes it a scan anywhere. UsageError
// for choices that do not go together.
ComputePolicy compute_for(std::string_view platform, const ComputeOptions& choice,
                          const Fields& fields = recipe_field);

// Where and how a job's programs run.
struct DeviceConfig {
  std::string device = "cpu";  // cpu, gpu or tpu
  std::int64_t devices = 1;
  MeshChoice mesh = {};
  std::optional<ComputeOptions> compute = {};  // empty: as the job itself says, else the default
};

// The sum of each replica's x; on one replica x itself.
Tensor sum_over_replicas(Tensor x, const ShardingPlan& placement);

}  // namespace smelt
