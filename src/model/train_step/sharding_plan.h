// How a step is distributed over devices. Platform-specific decisions of training are made here.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/choice.h"
#include "base/field_names.h"
#include "compiler/stablehlo/writer.h"
#include "model/nn/scope.h"

namespace smelt::model {

// Where the loss is normalized and the gradient clipped if several devices share a batch.
//   global       one loss over the whole batch; the gradient of all devices is clipped (default)
//   per_replica  as in the original BERT: each device normalizes its loss and clips its gradient,
//                then the gradients are summed (not averaged) over devices
enum class Reduction { global, per_replica };
inline constexpr NamedValues<Reduction, 2> kReductions{
    {{"global", Reduction::global}, {"per_replica", Reduction::per_replica}}};
constexpr const NamedValues<Reduction, 2>& words_of(Reduction) { return kReductions; }

// How a program runs on several devices.
enum class Parallelism {
  mesh,      // one program over all devices; XLA's partitioner places the collectives
  replicas,  // one program per device, with explicit collectives
};

// The placement of a program on devices.
struct ShardingPlan {
  std::int64_t devices = 1;
  Parallelism spread = Parallelism::mesh;
  // Add replica sums in a fixed order, with reproducible bits. Otherwise use the platform's
  // all-reduce.
  bool ordered_sums = false;
  compiler::HloForm form = {};    // exact_products comes from ComputePolicy
  PartitionRules partition = {};  // for a program over a mesh

  std::int64_t replicas() const { return spread == Parallelism::replicas ? devices : 1; }
  // Returns the number of shards of a batch, and the shard of a device.
  std::int64_t row_shards() const {
    return spread == Parallelism::replicas ? devices : partition.row_shards();
  }
  std::int64_t row_shard(std::int64_t device) const { return device / (devices / row_shards()); }
};

// Chooses the placement. On the CPU, devices are replicas with ordered sums, because the CPU's
// all-reduce adds in order of arrival. On other platforms, or if the mesh shards parameters, the
// program runs over a mesh, unless the reduction is per_replica. (On the CPU, two runs over a mesh
// may differ in the last bits.) Throws UsageError if the reduction or a sharded optimizer state
// cannot be combined with the placement.
ShardingPlan placement_for(std::string_view platform, std::int64_t devices, Reduction reduction,
                           PartitionRules partition = {});

// A mesh as written in recipes: "auto" (all devices share the batch) or "data=2,fsdp=2,tensor=2",
// and rules that override those of the model, such as "vocab=none".
struct MeshChoice {
  std::string mesh = "auto", rules = "";
  bool shard_optimizer_state = false;
  bool operator==(const MeshChoice&) const = default;
};
template <class C, class Visitor>
  requires std::same_as<std::remove_const_t<C>, MeshChoice>
void visit_fields(C& c, Visitor&& visit) {
  visit("mesh", c.mesh,
        "auto: data parallel over all devices; or axis sizes, data=2,fsdp=2,tensor=2: data shards "
        "the batch; fsdp shards batch and parameters; tensor shards heads, feed-forward layers and "
        "vocabulary");
  visit("rules", c.rules,
        "override the mesh axis that shards a dimension (embed, heads, mlp, vocab): vocab=none");
  visit("shard_optimizer_state", c.shard_optimizer_state,
        "shard the optimizer state over the data axis (ZeRO-1)");
}
// Parses the choice. Throws UsageError for an unknown axis, an axis given twice, or sizes whose
// product is not the number of devices.
PartitionRules partition_for(const MeshChoice& choice, std::int64_t devices,
                             const Fields& fields = recipe_field);

enum class Precision { f32, f32_exact, bf16 };
inline constexpr NamedValues<Precision, 3> kPrecisions{
    {{"f32", Precision::f32}, {"f32_exact", Precision::f32_exact}, {"bf16", Precision::bf16}}};
constexpr const NamedValues<Precision, 3>& words_of(Precision) { return kPrecisions; }
inline constexpr NamedValues<Layers, 2> kLayers{
    {{"unrolled", Layers::unrolled}, {"scan", Layers::scan}}};
constexpr const NamedValues<Layers, 2>& words_of(Layers) { return kLayers; }

// How a model is computed. Empty values are chosen by platform.
struct ComputeOptions {
  Precision precision = Precision::f32;
  std::optional<Layers> layers = {};
  std::optional<compiler::RematPolicy> save = {};
  std::int64_t attention_rows = 0;
  std::int64_t logits_mb = 128;
};
// Visits the fields of two sections of a recipe: train.precision and train.memory.
template <class C, class Visitor>
  requires std::same_as<std::remove_const_t<C>, ComputeOptions>
void visit_fields(C& c, Visitor&& visit) {
  visit("precision.compute", c.precision,
        "precision of activations and matmuls: bf16 or f32; f32_exact: full f32 precision of "
        "matmuls on a TPU or GPU, too; parameters are always f32");
  visit("memory.layers", c.layers,
        "unrolled; scan: a loop, so that compile time does not grow with depth; auto: chosen by "
        "device, depth and number of steps");
  visit("memory.remat_policy", c.save,
        "what scanned layers store for the backward pass: all (except attention scores on a TPU); "
        "products: results of matmuls; layer: only the layer's input (least memory); auto");
  visit("memory.attention_rows", c.attention_rows,
        "maximum number of queries that attention processes at a time; a smaller number saves "
        "memory for scores; 0: all");
  visit("memory.logits_mb", c.logits_mb,
        "maximum megabytes of vocabulary scores (logits) that a device computes at a time; 0: no "
        "limit");
}

// Convert a setting from and to its text in a recipe. parse_layers() and parse_save() return
// nullopt for "auto". The parsers throw UsageError that begins with `where` for an unknown value.
Precision parse_precision(std::string_view where, std::string_view word);
std::string name(Precision precision);
std::optional<Layers> parse_layers(std::string_view where, std::string_view word);
std::optional<compiler::RematPolicy> parse_save(std::string_view where, std::string_view word);
std::string name(Reduction reduction);
Reduction parse_reduction(std::string_view where, std::string_view word);

// Returns the policy for a platform. By default layers are unrolled on the CPU, where a loop would
// copy its stacked values, and scanned elsewhere with RematPolicy::products. Policies that store
// less than all imply a scan. Throws UsageError for contradicting choices.
ComputePolicy compute_for(std::string_view platform, const ComputeOptions& choice,
                          const Fields& fields = recipe_field);

// Devices and settings on which a job's programs run.
struct DeviceConfig {
  std::string device = "cpu";  // cpu, gpu or tpu
  std::int64_t devices = 1;
  MeshChoice mesh = {};
  std::optional<ComputeOptions> compute = {};  // empty: the job's own settings, or the default
};

// Returns the sum of x over replicas; x itself if there is one.
compiler::Tensor sum_over_replicas(compiler::Tensor x, const ShardingPlan& placement);

}  // namespace smelt::model
