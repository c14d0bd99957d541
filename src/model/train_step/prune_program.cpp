#include "model/train_step/prune_program.h"

#include <algorithm>

#include "base/error.h"
#include "compiler/autodiff/scan.h"
#include "compiler/ops/ops.h"
#include "model/optim/pruning.h"
#include "model/optim/soft_pruning.h"

namespace smelt::model {

using compiler::abs;
using compiler::bitcast_convert;
using compiler::bitwise_and;
using compiler::bitwise_or;
using compiler::broadcast_in_dim;
using compiler::broadcast_to;
using compiler::Compare;
using compiler::compare;
using compiler::constant;
using compiler::convert;
using compiler::Dims;
using compiler::DType;
using compiler::full_like;
using compiler::Graph;
using compiler::iota;
using compiler::minimum;
using compiler::Program;
using compiler::reduce_sum;
using compiler::RematPolicy;
using compiler::reshape;
using compiler::scan;
using compiler::ScanBody;
using compiler::ScanStep;
using compiler::select;
using compiler::Shape;
using compiler::Tensor;
using compiler::zeros_like;
namespace {

// Weights are ranked by s32 keys: a larger key means a more important weight. kBits is the number
// of bits of a key without the sign.
constexpr int kBits = 31;
constexpr double kLowestKey = -2147483648.0;

Tensor size_key(Tensor x) { return bitcast_convert(abs(x), DType::s32); }

// Converts the bits of f32 numbers, which may be negative, to s32 keys that sort like the numbers.
Tensor ordered_key(Tensor bits) {
  const Tensor least = full_like(bits, kLowestKey);
  return select(compare(bits, zeros_like(bits), Compare::lt), least - bits, bits);
}

// Returns keys that sort like `movement`, and the lowest key where the weight x is 0.
Tensor movement_key(Tensor x, Tensor movement) {
  const Tensor ordered = ordered_key(bitcast_convert(movement, DType::s32));
  return select(compare(x, zeros_like(x), Compare::eq), full_like(ordered, kLowestKey), ordered);
}

// A matrix of the state that is pruned.
struct Pruned {
  Tensor values, movement = {};  // movement or score; empty: prune by magnitude

  Tensor key() const { return movement ? movement_key(values, movement) : size_key(values); }
  Pruned within(Graph& body) const {
    return {body.capture(values), movement ? body.capture(movement) : Tensor()};
  }
};

// Returns the number of keys that are at least `least`, as s32.
Tensor count_from(std::span<const Tensor> keys, Tensor least) {
  Tensor count;
  for (const Tensor& key : keys) {
    Dims axes;
    for (std::int64_t axis = 0; axis < key.rank(); ++axis) axes.push_back(axis);
    const Tensor own = reduce_sum(
        convert(compare(key, broadcast_to(least, key.dims()), Compare::ge), DType::s32), axes);
    count = count ? count + own : own;
  }
  return count;
}

std::vector<Tensor> keys_of(const std::vector<Pruned>& matrices) {
  std::vector<Tensor> out;
  for (const Pruned& matrix : matrices) out.push_back(matrix.key());
  return out;
}

// Returns the largest threshold such that at least `kept` keys are not below it. Determines its
// sign, then each bit from the highest, by counting the keys.
Tensor least_key(Graph& graph, const std::vector<Pruned>& matrices, Tensor kept) {
  const Tensor zero = constant(graph, 0, DType::s32);
  const Tensor sign = select(compare(count_from(keys_of(matrices), zero), kept, Compare::ge), zero,
                             constant(graph, kLowestKey, DType::s32));
  const Tensor highest = constant(graph, static_cast<double>(1LL << (kBits - 1)), DType::s32);
  const ScanStep found =
      scan(graph, kBits, {sign, highest}, RematPolicy::none,
           [&](ScanBody& body, std::span<const Tensor> carry) -> ScanStep {
             std::vector<Pruned> inside;
             for (const Pruned& matrix : matrices) inside.push_back(matrix.within(body.graph()));
             const Tensor with_bit = carry[0] + carry[1];
             const Tensor enough = compare(count_from(keys_of(inside), with_bit),
                                           body.graph().capture(kept), Compare::ge);
             return {.carry = {select(enough, with_bit, carry[0]),
                               carry[1] / constant(body.graph(), 2, DType::s32)}};
           });
  return found.carry[0];
}

bool is_pruned_tensor(const StateLayout& state, std::size_t i) {
  const StateTensor& tensor = state.tensors[i];
  return i < state.values && is_prunable(tensor.name, tensor.shape_of_one().dims);
}

}  // namespace

std::uint64_t prunable_weights(const StateLayout& state) {
  std::uint64_t out = 0;
  for (std::size_t i = 0; i < state.values; ++i)
    if (is_pruned_tensor(state, i))
      out += static_cast<std::uint64_t>(state.tensors[i].shape.elements());
  return out;
}

namespace {

// Returns the key of the given score, or a lower one if fewer than the minimum share of weights
// (kSoftKeeps) would be kept.
Tensor least_soft_key(Graph& graph, const StateLayout& state, const std::vector<Pruned>& matrices,
                      Tensor score) {
  const auto some = static_cast<double>(kept_of(prunable_weights(state), 1 - kSoftKeeps));
  return minimum(ordered_key(score), least_key(graph, matrices, constant(graph, some, DType::s32)));
}

// Applies N:M sparsity to x [..., in, out]: in each group of inputs only the largest weights are
// kept.
Tensor in_pattern(Tensor x, const NmPattern& nm) {
  const std::int64_t in = x.dim(-2), out = x.dim(-1), groups = x.shape().elements() / out / nm.of;
  const Tensor keys = reshape(size_key(x), {groups, nm.of, out});
  const Dims pairs{groups, nm.of, nm.of, out};  // [groups, weight, other weight, out]
  const Tensor own = broadcast_in_dim(keys, pairs, {0, 1, 3}),
               other = broadcast_in_dim(keys, pairs, {0, 2, 3});
  Graph& graph = x.graph();
  const Shape numbers{DType::s32, pairs};
  const Tensor is_before = compare(iota(graph, numbers, 2), iota(graph, numbers, 1), Compare::lt);
  const Tensor is_larger = compare(other, own, Compare::gt),
               is_equal = compare(other, own, Compare::eq);
  const Tensor goes_before = bitwise_or(is_larger, bitwise_and(is_equal, is_before));
  const Tensor place = reduce_sum(convert(goes_before, DType::s32), {2});
  const Tensor stays = compare(place, full_like(place, static_cast<double>(nm.kept)), Compare::lt);
  CHECK(in % nm.of == 0, in, " in ", nm.of);
  return select(reshape(stays, x.dims()), x, zeros_like(x));
}

// Returns the index of the state tensor for slot `slot` of value i.
std::size_t slot_of(const StateLayout& state, std::size_t i, const char* slot) {
  const std::string name = str(state.tensors[i].name, "/", slot);
  const auto found = std::ranges::find(state.tensors, name, &StateTensor::name);
  CHECK(found != state.tensors.end(), name);
  return static_cast<std::size_t>(found - state.tensors.begin());
}

void check_groups(const StateLayout& state, const NmPattern& nm) {
  for (std::size_t i = 0; i < state.values; ++i)
    if (const Shape one = state.tensors[i].shape_of_one();
        is_pruned_tensor(state, i) && one.dims[0] % nm.of != 0)
      throw UsageError(str("train.pruning.nm ", nm_text(nm), ": '", state.tensors[i].name, "' is ",
                           one, ", whose ", one.dims[0], " inputs are not a multiple of ", nm.of),
                       "choose another pattern, or set train.pruning.sparsity instead");
}

// Returns the number of nonzero weights in the pruned tensors.
Tensor count_left(const StateLayout& state, std::span<const Tensor> all) {
  Tensor count;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!is_pruned_tensor(state, i)) continue;
    const std::vector<Tensor> size{size_key(all[i])};
    const Tensor own = count_from(size, constant(all[i].graph(), 1, DType::s32));
    count = count ? count + own : own;
  }
  return count;
}

// Returns the state with the matrices pruned.
std::vector<Tensor> pruned_state(const StateLayout& state, const Pruning& pruning, Graph& graph,
                                 std::vector<Tensor> all, Tensor kept) {
  std::vector<Pruned> matrices;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!is_pruned_tensor(state, i)) continue;
    places.push_back(i);
    const char* const slot = pruning.by == PruneBy::soft ? kSoftScore : kMovement;
    matrices.push_back(
        {all[i], pruning.by == PruneBy::magnitude ? Tensor() : all[slot_of(state, i, slot)]});
  }
  if (pruning.nm) {
    for (const std::size_t i : places) all[i] = in_pattern(all[i], *pruning.nm);
    return all;
  }
  const Tensor least = pruning.by == PruneBy::soft ? least_soft_key(graph, state, matrices, kept)
                                                   : least_key(graph, matrices, kept);
  for (std::size_t m = 0; m < places.size(); ++m) {
    const Tensor x = matrices[m].values;
    all[places[m]] = select(compare(matrices[m].key(), broadcast_to(least, x.dims()), Compare::ge),
                            x, zeros_like(x));
  }
  return all;
}

}  // namespace

StepProgram prune_program(const StepProgram& training, const Pruning& pruning) {
  StepProgram out{.state = training.state, .placement = training.placement};
  if (pruning.nm) check_groups(out.state, *pruning.nm);
  Program& p = out.program;
  p.form = training.program.form;
  p.replicas = training.program.replicas;
  p.mesh = training.program.mesh;
  const Tensor kept = p.graph.argument({DType::s32, {}});
  std::vector<Tensor> all;
  for (const StateTensor& tensor : out.state.tensors) {
    p.donated_by.push_back(1 + std::ssize(all));
    all.push_back(p.graph.argument(tensor.shape));
  }
  p.results = pruned_state(out.state, pruning, p.graph, std::move(all), kept);
  p.results.push_back(count_left(out.state, p.results));
  p.donated_by.push_back(-1);
  if (p.mesh.empty()) return out;
  p.argument_sharding.push_back({});
  for (const StateTensor& tensor : out.state.tensors) {
    p.argument_sharding.push_back(tensor.sharding);
    p.result_sharding.push_back(tensor.sharding);
  }
  p.result_sharding.push_back({});
  return out;
}

}  // namespace smelt::model
