#include "step/prune_program.h"

#include "grad/scan.h"
#include "ops/ops.h"
#include "optim/pruning.h"

namespace smelt {
namespace {

// Bits of an f32 below its sign, whose order is that of sizes.
constexpr int kSizeBits = 31;

Tensor size_bits(Tensor x) { return bitcast_convert(abs(x), DType::s32); }

// How many of all have at least that size: s32.
Tensor count_from(std::span<const Tensor> all, Tensor least) {
  Tensor count;
  for (const Tensor& bits : all) {
    Dims axes;
    for (std::int64_t axis = 0; axis < bits.rank(); ++axis) axes.push_back(axis);
    const Tensor own = reduce_sum(
        convert(compare(bits, broadcast_to(least, bits.dims()), Compare::ge), DType::s32), axes);
    count = count ? count + own : own;
  }
  return count;
}

// The size that `kept` of all reach, as bits: each bit from the highest, if it still leaves them.
Tensor least_size(Graph& graph, const std::vector<Tensor>& matrices, Tensor kept) {
  const Tensor zero = constant(graph, 0, DType::s32);
  const Tensor highest = constant(graph, static_cast<double>(1LL << (kSizeBits - 1)), DType::s32);
  const ScanStep found =
      scan(graph, kSizeBits, {zero, highest}, Save::none,
           [&](ScanBody& body, std::span<const Tensor> carry) -> ScanStep {
             std::vector<Tensor> sizes;
             for (const Tensor& matrix : matrices)
               sizes.push_back(size_bits(body.graph().capture(matrix)));
             const Tensor with_bit = carry[0] + carry[1];
             const Tensor enough =
                 compare(count_from(sizes, with_bit), body.graph().capture(kept), Compare::ge);
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

StepProgram prune_program(const StepProgram& training) {
  StepProgram out{.state = training.state, .placement = training.placement};
  Program& p = out.program;
  p.form = training.program.form;
  p.replicas = training.program.replicas;
  p.mesh = training.program.mesh;
  const Tensor kept = p.graph.argument({DType::s32, {}});
  std::vector<Tensor> all, matrices;
  for (std::size_t i = 0; i < out.state.tensors.size(); ++i) {
    all.push_back(p.graph.argument(out.state.tensors[i].shape));
    if (is_pruned_tensor(out.state, i)) matrices.push_back(all.back());
  }
  const Tensor least = least_size(p.graph, matrices, kept);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Tensor x = all[i];
    p.donated_by.push_back(1 + static_cast<std::int64_t>(i));
    p.results.push_back(
        is_pruned_tensor(out.state, i)
            ? select(compare(size_bits(x), broadcast_to(least, x.dims()), Compare::ge), x,
                     zeros_like(x))
            : x);
  }
  if (p.mesh.empty()) return out;
  p.argument_sharding.push_back({});
  for (const StateTensor& tensor : out.state.tensors) {
    p.argument_sharding.push_back(tensor.sharding);
    p.result_sharding.push_back(tensor.sharding);
  }
  return out;
}

}  // namespace smelt
