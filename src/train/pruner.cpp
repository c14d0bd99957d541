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

namespace smelt::train {
namespace {

pjrt::Executable compiled_pruning(const pjrt::Client& client, const model::StepProgram& training,
                                  const model::Pruning& pruning) {
  const model::StepProgram program = model::prune_program(training, pruning);
  return pjrt::compile_cached(client, compiler::emit_module(program.program, "prune"),
                              execution::compile_options(program.placement));
}

}  // namespace

Pruner::Pruner(std::shared_ptr<const pjrt::Client> client, const model::StepProgram& training,
               const model::Pruning& pruning, execution::MemoryAdvice advice)
    : client_(std::move(client)),
      pruning_(pruning),
      advice_(std::move(advice)),
      placement_(training.placement),
      state_(training.state),
      weights_(model::prunable_weights(training.state)),
      executable_(compiled_pruning(*client_, training, pruning)) {
  if (weights_ > std::numeric_limits<std::int32_t>::max())  // the program counts with s32
    throw UsageError(str("train.pruning.sparsity: ", weights_,
                         " prunable weights exceed the limit of 2147483647"),
                     "set train.pruning.sparsity to 0");
}

std::int32_t Pruner::number_at(std::int64_t steps_done, bool late) const {
  if (pruning_.by == model::PruneBy::soft)
    return std::bit_cast<std::int32_t>(model::least_score(pruning_.schedule, steps_done));
  constexpr std::uint64_t kTies = 100'000;  // assumed limit: one tied weight in this many
  const std::uint64_t kept =
      model::kept_of(weights_, model::sparsity_at(pruning_.schedule, steps_done));
  return static_cast<std::int32_t>(std::min(weights_, kept + (late ? weights_ / kTies : 0)));
}

void Pruner::prune(std::int64_t steps_done, bool late, execution::ModelState& state) const {
  const std::int32_t number = number_at(steps_done, late);
  const std::int32_t left = execution::fitting(advice_, [&] {
    std::vector<pjrt::Buffer> numbers;
    std::vector<std::vector<const pjrt::Buffer*>> arguments;
    const std::vector<pjrt::OwnDevice> devices = client_->own_devices(placement_.devices);
    for (const pjrt::OwnDevice& to : devices)
      numbers.push_back(client_->to_device(std::as_bytes(std::span(&number, 1)),
                                           {compiler::DType::s32, {}}, to.device));
    for (std::size_t i = 0; i < devices.size(); ++i) {
      auto& handles = arguments.emplace_back();
      handles.push_back(&numbers[i]);
      for (const pjrt::Buffer* buffer : state.on_device(i, state_)) handles.push_back(buffer);
    }
    pjrt::Execution execution = executable_.execute(arguments);
    state.replace(execution.results);
    return execution.results.front().back().to_host<std::int32_t>().front();
  });
  log_info("train: {} of the weights of attention and feed-forward are 0 from step {} on",
           percent(1 - share(static_cast<std::uint64_t>(left), weights_)), steps_done + 1);
}

}  // namespace smelt::train
