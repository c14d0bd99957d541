#include "model/train_step/sharding_plan.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/choice.h"
#include "base/nearest_name.h"
#include "base/plural.h"
#include "compiler/ops/ops.h"

namespace smelt::model {

using compiler::all_gather;
using compiler::all_reduce_sum;
using compiler::all_to_all;
using compiler::DType;
using compiler::pad;
using compiler::RematPolicy;
using compiler::reshape;
using compiler::slice_axis;
using compiler::Tensor;
namespace {

// Adds the rows of x [D, n] in order and returns [n].
Tensor add_rows(Tensor x) {
  const auto n = x.dim(1);
  Tensor sum;
  for (std::int64_t row = 0; row < x.dim(0); ++row) {
    const Tensor next = reshape(slice_axis(x, 0, row, row + 1), {n});
    sum = sum ? sum + next : next;
  }
  return sum;
}

// Sums x over replicas in a fixed order: each replica sums one slice of x, then the slices are
// all-gathered. Needs memory for two copies of x instead of one per replica.
Tensor ordered_sum(Tensor x, std::int64_t replicas) {
  const std::int64_t count = x.shape().elements();
  const std::int64_t slice = (count + replicas - 1) / replicas, whole = slice * replicas;
  Tensor flat = reshape(x, {count});
  if (whole > count) flat = pad(flat, 0, {0}, {whole - count});
  const Tensor mine = all_to_all(reshape(flat, {replicas, slice}), 0, 0, replicas);
  const Tensor sums = all_gather(add_rows(mine), 0, replicas);
  return reshape(whole > count ? slice_axis(sums, 0, 0, count) : sums, x.dims());
}

const std::vector<std::string> kAxes{"data", "fsdp", "tensor"};

using Settings = std::vector<std::pair<std::string, std::string>>;

// Parses "a=1,b=2" into {a, 1}, {b, 2}. Names must be in `known`.
Settings parse_settings(const std::string& where, const std::string& text,
                        const std::vector<std::string>& known) {
  Settings out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string item(trim(std::string_view(text).substr(at, end - at)));
    at = end + 1;
    const auto equals = item.find('=');
    const std::string name(trim(std::string_view(item).substr(0, equals)));
    if (std::ranges::find(known, name) == known.end())
      throw UsageError(str(where, ": '", name, "' is unknown"), did_you_mean(name, known));
    if (equals == std::string::npos)
      throw UsageError(str(where, ": '", item, "' has no value"), str("write ", item, "=…"));
    if (std::ranges::find(out, name, &Settings::value_type::first) != out.end())
      throw UsageError(str(where, ": '", name, "' is given twice"), "remove one of them");
    out.emplace_back(name, trim(std::string_view(item).substr(equals + 1)));
  }
  return out;
}

std::int64_t count_of(const std::string& where, const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1 || value > 1'000'000)
    throw UsageError(str(where, ": '", text, "' must be a number of devices, at least 1"),
                     "use a positive integer");
  return value;
}

}  // namespace

ShardingPlan placement_for(std::string_view platform, std::int64_t devices, Reduction reduction,
                           PartitionRules partition) {
  const bool cpu = platform == "cpu";
  const bool split = partition.size("fsdp") > 1 || partition.size("tensor") > 1;
  if (split && reduction == Reduction::per_replica)
    throw UsageError("reduction per_replica cannot be combined with a mesh that splits parameters",
                     "use the mesh auto, or the reduction global");
  const bool replicas = reduction == Reduction::per_replica || (cpu && devices > 1 && !split);
  if (replicas && partition.split_slots)
    throw UsageError("the optimizer state cannot be sharded if each device is a separate replica",
                     "do not shard it on the CPU or with the reduction per_replica");
  if (replicas) partition.mesh.clear();
  if (!replicas && devices > 1 && partition.mesh.empty()) partition.mesh = {{"data", devices}};
  return {.devices = devices,
          .spread = replicas ? Parallelism::replicas : Parallelism::mesh,
          .ordered_sums = cpu,
          .form = {.sums_as_products = cpu, .long_sums_in_f64 = cpu},
          .partition = std::move(partition)};
}

PartitionRules partition_for(const MeshChoice& choice, std::int64_t devices, const Fields& fields) {
  PartitionRules out;
  out.split_slots = choice.shard_optimizer_state;
  std::int64_t product = 1;
  const std::string mesh = fields("parallelism.mesh"), rules = fields("parallelism.rules");
  const auto sizes = choice.mesh == "auto" ? Settings{{"data", str(devices)}}
                                           : parse_settings(mesh, choice.mesh, kAxes);
  for (const std::string& axis : kAxes)
    for (const auto& [name, text] : sizes) {
      if (name != axis) continue;
      const std::int64_t size = count_of(mesh, text);
      product *= size;
      if (size > 1) out.mesh.emplace_back(axis, size);
    }
  if (product != devices)
    throw UsageError(str(mesh, " '", choice.mesh, "' has ", counted(product, "device"), ", but ",
                         fields("devices"), " is ", devices),
                     "choose axis sizes whose product is the number of devices");
  for (const auto& [dim, axis] :
       parse_settings(rules, choice.rules, {"embed", "heads", "mlp", "vocab"}))
    out.rules[dim] = choose<std::string>(str(rules, " ", dim), axis,
                                         {{"none", ""}, {"fsdp", "fsdp"}, {"tensor", "tensor"}});
  return out;
}

Precision parse_precision(std::string_view where, std::string_view word) {
  return choose_of(where, word, kPrecisions);
}

std::string name(Precision precision) { return std::string(word_of(precision, kPrecisions)); }

std::optional<Layers> parse_layers(std::string_view where, std::string_view word) {
  return choose<std::optional<Layers>>(
      where, word, {{"auto", {}}, {"unrolled", Layers::unrolled}, {"scan", Layers::scan}});
}

std::optional<RematPolicy> parse_save(std::string_view where, std::string_view word) {
  return choose<std::optional<RematPolicy>>(where, word,
                                            {{"auto", {}},
                                             {"all", RematPolicy::all},
                                             {"products", RematPolicy::products},
                                             {"layer", RematPolicy::layer}});
}

Reduction parse_reduction(std::string_view where, std::string_view word) {
  return choose_of(where, word, kReductions);
}

std::string name(Reduction reduction) { return std::string(word_of(reduction, kReductions)); }

ComputePolicy compute_for(std::string_view platform, const ComputeOptions& choice,
                          const Fields& fields) {
  const bool cpu = platform == "cpu";
  ComputePolicy out;
  out.dtype = choice.precision == Precision::bf16 ? DType::bf16 : DType::f32;
  out.exact_products = choice.precision == Precision::f32_exact;
  out.joined_products = out.stored_masks = cpu;
  out.attention_rows = choice.attention_rows;
  out.logits_bytes = choice.logits_mb << 20;
  // Policies other than `all` require a scan.
  const bool less = choice.save.value_or(RematPolicy::all) != RematPolicy::all;
  out.layers = choice.layers.value_or(cpu && !less ? Layers::unrolled : Layers::scan);
  out.save =
      choice.save.value_or(out.layers == Layers::scan ? RematPolicy::products : RematPolicy::all);
  out.softmax_by_context = platform == "tpu";
  out.stored_scores = platform != "tpu" || out.save == RematPolicy::layer;
  if (out.layers == Layers::unrolled && less)
    throw UsageError(
        str(fields("memory.remat_policy"), " '", word_of(*choice.save, compiler::kRematPolicies),
            "' with ", fields("memory.layers"), " 'unrolled': requires layers 'scan'"),
        str("set ", fields("memory.layers"), " to scan"));
  return out;
}

Tensor sum_over_replicas(Tensor x, const ShardingPlan& placement) {
  const std::int64_t replicas = placement.replicas();
  if (replicas == 1) return x;
  return placement.ordered_sums ? ordered_sum(x, replicas) : all_reduce_sum(x, replicas);
}

}  // namespace smelt::model
