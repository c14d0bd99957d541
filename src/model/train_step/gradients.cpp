#include "model/train_step/gradients.h"

#include "base/error.h"
#include "compiler/autodiff/grad.h"
#include "compiler/ops/ops.h"

namespace smelt::model {

using compiler::Along;
using compiler::concatenate;
using compiler::constant;
using compiler::dependents;
using compiler::DType;
using compiler::grad;
using compiler::Graph;
using compiler::iota;
using compiler::per_shard;
using compiler::reduce_sum;
using compiler::RematPolicy;
using compiler::reshape;
using compiler::scan;
using compiler::ScanBody;
using compiler::ScanStep;
using compiler::slice_axis;
using compiler::stop_gradient;
using compiler::Tensor;
namespace {

Tensor element(Tensor vector, std::size_t i) {
  const auto at = static_cast<std::int64_t>(i);
  return reshape(slice_axis(vector, 0, at, at + 1), {});
}

std::vector<Tensor> elements(Tensor vector) {
  std::vector<Tensor> out;
  for (std::int64_t i = 0; i < vector.dim(0); ++i)
    out.push_back(element(vector, static_cast<std::size_t>(i)));
  return out;
}

// Returns the random source of micro-batch `index`, whose rows are every count-th row of the batch.
RandomSource rows_of_micro_batch(RandomSource source, Tensor index, std::int64_t count) {
  const Tensor begin =
      index * constant(index.graph(), static_cast<double>(source.row_stride), DType::s32);
  source.first_row = source.first_row ? source.first_row + begin : begin;
  source.row_stride *= count;
  return source;
}

std::vector<Tensor> sums_of(const Objective& objective) {
  std::vector<Tensor> sums;
  for (const auto* list : {&objective.losses, &objective.metrics})
    for (const Metric& m : *list) sums.push_back(m.sum);
  return sums;
}

ScanStep add_micro_batch(const GradientJob& job, ScanBody& body, std::span<const Tensor> carry) {
  std::vector<Tensor> batch, wrt;
  for (const Tensor& t : job.batch)
    batch.push_back(body.slice(in_micro_batches(t, job.micro_batches)));
  const Scope root = job.root.within(
      body.graph(),
      rows_of_micro_batch(*job.root.random_source(), body.index(), job.micro_batches));
  const auto sums = sums_of(job.task.objective(root, Inputs(job.task.features, batch)));
  for (const Tensor& w : job.wrt) wrt.push_back(body.graph().capture(w));
  const auto gradients = grad(job.measures.loss(sums, job.reduction), wrt);
  ScanStep next{.carry = {carry[0] + vector_of(sums)}};
  for (std::size_t i = 0; i < gradients.size(); ++i)
    next.carry.push_back(carry[i + 1] + gradients[i]);
  return next;
}

// Returns the sums of the measures and the gradients, added over micro-batches.
std::vector<Tensor> sums_of_micro_batches(const GradientJob& job, Graph& graph) {
  std::int64_t numbers = 0;
  for (const Tensor& sum : job.measures.sums) numbers += sum.shape().elements();
  std::vector<Tensor> zeros{constant(graph, 0, DType::f32, {numbers})};
  for (const Tensor& w : job.wrt) zeros.push_back(constant(graph, 0, w.dtype(), w.dims()));
  return scan(graph, job.micro_batches, zeros, RematPolicy::none,
              [&](ScanBody& body, std::span<const Tensor> carry) {
                return add_micro_batch(job, body, carry);
              })
      .carry;
}

// Like sums_of_micro_batches, but separately for each shard of the data axis, with one sum at the
// end. XLA's partitioner would sum gradients over the axis in every iteration.
std::vector<Tensor> sums_of_data_shards(const GradientJob& job, std::int64_t shards) {
  Graph& graph = job.root.graph();
  std::vector<Tensor> rows = job.batch;
  rows.push_back(iota(graph, {DType::s32, {job.batch.front().dim(0)}}, 0));
  const auto own_sums = [&](Graph& inner, std::span<const Tensor> own) {
    RandomSource random = *job.root.random_source();
    random.first_row = element(own.back(), 0);
    const std::vector<Tensor> batch(own.begin(), own.end() - 1);
    const Scope root = job.root.within(inner, random).shard_of("data");
    return sums_of_micro_batches({.task = job.task,
                                  .batch = batch,
                                  .root = root,
                                  .measures = job.measures,
                                  .wrt = job.wrt,
                                  .micro_batches = job.micro_batches,
                                  .reduction = job.reduction},
                                 inner);
  };
  std::vector<Tensor> out = per_shard(graph, "data", shards, rows, own_sums);
  for (Tensor& t : out) t = reduce_sum(t, {0});
  return out;
}

}  // namespace

Tensor vector_of(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> items;
  for (const Tensor& t : tensors) items.push_back(reshape(t, {t.shape().elements()}));
  return concatenate(items, 0);
}

std::vector<Tensor> split_like(Tensor vector, const std::vector<Tensor>& like) {
  std::vector<Tensor> out;
  std::int64_t at = 0;
  for (const Tensor& t : like) {
    const std::int64_t end = at + t.shape().elements();
    out.push_back(reshape(slice_axis(vector, 0, at, end), t.dims()));
    at = end;
  }
  CHECK(at == vector.dim(0), at, " elements of ", vector.shape());
  return out;
}

Measures::Measures(const Objective& objective, const ShardingPlan& placement)
    : all(objective.losses), losses(objective.losses.size()), sums(sums_of(objective)) {
  all.insert(all.end(), objective.metrics.begin(), objective.metrics.end());
  std::vector<Tensor> weights;
  for (const Metric& m : all) {
    CHECK(m.finish != nullptr || m.sum.rank() == 0, m.name, " must be a scalar, is ",
          m.sum.shape());
    reported.push_back({.name = m.name,
                        .sums = static_cast<std::size_t>(m.sum.shape().elements()),
                        .finish = m.finish,
                        .loss_factor = reported.size() < losses ? m.factor : 0});
    weights.push_back(stop_gradient(m.weight));
  }
  total_weights = elements(sum_over_replicas(vector_of(weights), placement));
}

Tensor Measures::loss(const std::vector<Tensor>& of, Reduction reduction) const {
  Tensor out;
  for (std::size_t i = 0; i < losses; ++i) {
    const Metric& m = all[i];
    const Tensor weight =
        reduction == Reduction::global ? total_weights[i] : stop_gradient(m.weight);
    Tensor term = of[i] * norm_factor(m.norm, weight);
    if (m.factor != 1) term = term * m.factor;
    out = out ? out + term : term;
  }
  return out;
}

Tensor Measures::totals(const std::vector<Tensor>& of, const ShardingPlan& placement) const {
  const auto sums_of_all =
      split_like(stop_gradient(sum_over_replicas(vector_of(of), placement)), sums);
  std::vector<Tensor> numbers;
  for (std::size_t i = 0; i < sums_of_all.size(); ++i) {
    numbers.push_back(sums_of_all[i]);
    numbers.push_back(total_weights[i]);
  }
  return vector_of(numbers);
}

std::vector<Tensor> Measures::sums_in(Tensor totals) const {
  std::vector<Tensor> pairs, out;
  for (std::size_t i = 0; i < all.size(); ++i) {
    pairs.push_back(sums[i]);
    pairs.push_back(total_weights[i]);
  }
  pairs = split_like(totals, pairs);
  for (std::size_t i = 0; i < all.size(); ++i) out.push_back(pairs[2 * i]);
  return out;
}

Gradients gradients_of(const GradientJob& job) {
  const std::vector<Tensor>& sums = job.measures.sums;
  if (job.micro_batches == 1 || job.task.splits_batch)
    return {.of_parameters = grad(job.measures.loss(sums, job.reduction), job.wrt), .sums = sums};
  const auto trained = dependents(job.root.graph(), job.wrt, Along::values);
  for (const Tensor& weight : job.measures.total_weights)
    CHECK(!trained.contains(&weight.node()), job.task.name,
          ": the weight of a loss must not depend on parameters");
  const PartitionRules* partition = job.root.compute().partition.get();
  const std::int64_t shards = partition == nullptr ? 1 : partition->size("data");
  const auto found =
      shards > 1 ? sums_of_data_shards(job, shards) : sums_of_micro_batches(job, job.root.graph());
  return {.of_parameters = {found.begin() + 1, found.end()}, .sums = split_like(found[0], sums)};
}

}  // namespace smelt::model
