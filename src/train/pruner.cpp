#include "train/pruner.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "base/error.h"
#include "base/log.h"
#include "base/number_format.h"
#include "execution/train_state/placement_options.h"
#include "model/optim/soft_pruning.h"
#include "model/train_step/prune_program.h"
#include "pjrt/compile_cache.h"

namespace smelt {
namespace {

Executable compiled_pruning(const Client& client, const StepProgram& training,
                            const Pruning& pruning) {
  const StepProgram program = prune_program(training, pruning);
  return compile_cached(client, emit_module(program.program, "prune"),
                        compile_options(program.placement));
}

}  // namespace

Pruner::Pruner(std::shared_ptr<const Client> client, const StepProgram& training,
               const Pruning& pruning, MemoryAdvice advice)
    : client_(std::move(client)),
      pruning_(pruning),
      advice_(std::move(advice)),
      placement_(training.placement),
      state_(training.state),
      weights_(prunable_weights(training.state)),
      executable_(compiled_pruning(*client_, training, pruning)) {
  if (weights_ > std::numeric_limits<std::int32_t>::max())  // the program counts with s32
    throw UsageError(str("train.pruning.sparsity: ", weights_,
                         " prunable weights exceed the limit of 2147483647"),
                     "set train.pruning.sparsity to 0");
}

std::int32_t Pruner::number_at(std::int64_t steps_done, bool late) const {
  if (pruning_.by == PruneBy::soft)
    return std::bit_cast<std::int32_t>(least_score(pruning_.schedule, steps_done));
  constexpr std::uint64_t kTies = 100'000;  // at most one of this many weights ties
  const std::uint64_t kept = kept_of(weights_, sparsity_at(pruning_.schedule, steps_done));
  return static_cast<std::int32_t>(std::min(weights_, kept + (late ? weights_ / kTies : 0)));
}

void Pruner::prune(std::int64_t steps_done, bool late, ModelState& state) const {
  const std::int32_t number = number_at(steps_done, late);
  const std::int32_t left = fitting(advice_, [&] {
    std::vector<Buffer> numbers;
    std::vector<std::vector<const Buffer*>> arguments;
    const std::vector<OwnDevice> devices = client_->own_devices(placement_.devices);
    for (const OwnDevice& to : devices)
      numbers.push_back(
          client_->to_device(std::as_bytes(std::span(&number, 1)), {DType::s32, {}}, to.device));
    for (std::size_t i = 0; i < devices.size(); ++i) {
      auto& handles = arguments.emplace_back();
      handles.push_back(&numbers[i]);
      for (const Buffer* buffer : state.on_device(i, state_)) handles.push_back(buffer);
    }
    Execution execution = executable_.execute(arguments);
    state.replace(execution.results);
    return execution.results.front().back().to_host<std::int32_t>().front();
  });
  log_info("train: {} of the weights of attention and feed-forward are 0 from step {} on",
           percent(1 - share(static_cast<std::uint64_t>(left), weights_)), steps_done + 1);
}

}  // namespace smelt
