#include "model/train_step/number_arguments.h"

#include "compiler/ops/ops.h"

namespace smelt {
namespace {

Tensor scaled(Tensor number, std::int64_t by) {
  return number * full_like(number, static_cast<double>(by));
}

}  // namespace

RandomSource random_arguments(StepProgram& out, const TrainingConfig& c, std::int64_t rows) {
  Graph& graph = out.program.graph;
  RandomSource random{.step = graph.argument({DType::s32, {}})};
  out.takes_replica = out.placement.spread == Parallelism::replicas;
  if (!out.takes_replica) return random;
  const Tensor replica = graph.argument({DType::s32, {}});
  if (c.reduction == Reduction::per_replica)
    random.stream = replica;
  else
    random.first_row = scaled(replica, rows);
  return random;
}

std::optional<RandomSource> numbered_examples(bool draws, StepProgram& out, std::int64_t size) {
  if (!draws) return {};
  Graph& graph = out.program.graph;
  const Tensor batch = graph.argument({DType::s32, {}});
  out.takes_step = true;
  out.takes_replica = out.placement.spread == Parallelism::replicas;
  Tensor first = scaled(batch, size);
  if (out.takes_replica)
    first = first + scaled(graph.argument({DType::s32, {}}), size / out.placement.replicas());
  return RandomSource{.seed = TrainingConfig().seed,
                      .step = zeros_like(batch),
                      .first_row = first,
                      .training = false};
}

std::shared_ptr<SeedKeys> keys_argument(Graph& graph) {
  constexpr std::int64_t kWords = 2 * SeedKeys::kMostPlaces;
  return std::make_shared<SeedKeys>(
      SeedKeys{.words = graph.argument({DType::u32, {kWords}}), .places = {}});
}

std::function<float(std::int64_t)> rate_by_step(const TrainingConfig& c) {
  return [schedule = c.schedule, first = c.optimizer.first_step](std::int64_t step) {
    return learning_rate(schedule, step + first);
  };
}

}  // namespace smelt
