#include "cli/commands/bench_update.h"

#include <algorithm>
#include <ctime>

#include "base/clock.h"
#include "compiler/ops/ops.h"
#include "execution/train_state/initialize.h"
#include "model/train_step/sharding_plan.h"
#include "pjrt/executable.h"

namespace smelt::cli {
namespace {

// Returns the update program. Arguments: values and slots (both donated), gradients, the step.
// Results: new values and slots.
compiler::Program update_program(const std::vector<model::StateTensor>& parameters,
                                 const model::Optimizer& optimizer, std::string_view platform) {
  compiler::Program p;
  p.form = model::placement_for(platform, 1, model::Reduction::global).form;
  std::vector<model::Parameter> all;
  for (const model::StateTensor& t : parameters)
    all.push_back({t.name, p.graph.argument(t.shape), t.init, t.layers});
  std::vector<std::vector<compiler::Tensor>> slots;
  for (const model::Parameter& parameter : all) {
    auto& own = slots.emplace_back();
    for (const model::Slot& slot : optimizer.slots(parameter))
      own.push_back(p.graph.argument(
          {compiler::DType::f32, model::stacked_dims(parameter.layers, slot.dims)}));
  }
  const std::size_t donated = p.graph.arguments().size();
  std::vector<compiler::Tensor> gradients, new_slots;
  for (const model::StateTensor& t : parameters) gradients.push_back(p.graph.argument(t.shape));
  const compiler::Tensor step = p.graph.argument({compiler::DType::s32, {}});
  const model::OptimizerStep at{.rate = compiler::constant(p.graph, 1e-3, compiler::DType::f32),
                                .step = step,
                                .sums_in_slices = p.form.sums_as_products};
  for (std::size_t i = 0; i < all.size(); ++i) {
    const model::UpdatedParameter next = optimizer.update(at, all[i], slots[i], gradients[i]);
    p.results.push_back(next.value);
    new_slots.insert(new_slots.end(), next.slots.begin(), next.slots.end());
  }
  p.results.insert(p.results.end(), new_slots.begin(), new_slots.end());
  for (std::size_t i = 0; i < donated; ++i) p.donated_by.push_back(static_cast<std::int64_t>(i));
  return p;
}

pjrt::Buffer drawn(const pjrt::Client& client, const model::StateTensor& parameter,
                   std::uint64_t seed) {
  std::vector<float> values(static_cast<std::size_t>(parameter.shape.elements()));
  execution::draw_initial(parameter, seed, values);
  return smelt::pjrt::to_device(client, values, parameter.shape);
}

// One optimizer with its own state, for timing.
class TimedUpdate {
 public:
  TimedUpdate(const pjrt::Client& client, const std::vector<model::StateTensor>& parameters,
              const model::Optimizer& optimizer)
      : program_(update_program(parameters, optimizer, client.platform_name())),
        executable_(client.compile(compiler::emit_module(program_, "update"))) {
    for (std::size_t i = 0; i < program_.results.size(); ++i) {
      const compiler::Shape& shape = program_.results[i].shape();
      if (i >= parameters.size()) slots_ += shape.elements();
      state_.push_back(
          i < parameters.size()
              ? drawn(client, parameters[i], 1)
              : smelt::pjrt::to_device(client, std::vector<float>(shape.elements()), shape));
    }
  }

  void run(const std::vector<pjrt::Buffer>& gradients, std::int32_t step, bool timed) {
    const pjrt::Buffer at = smelt::pjrt::to_device<std::int32_t>(executable_.client(), {step},
                                                                 {compiler::DType::s32, {}});
    std::vector<const pjrt::Buffer*> arguments;
    for (const pjrt::Buffer& buffer : state_) arguments.push_back(&buffer);
    for (const pjrt::Buffer& buffer : gradients) arguments.push_back(&buffer);
    arguments.push_back(&at);
    const auto start = Clock::now();
    const std::clock_t processor_start = std::clock();
    pjrt::Execution execution = executable_.execute({arguments});
    execution.await();
    const double seconds = seconds_since(start);
    state_ = std::move(execution.results[0]);
    if (!timed) return;
    times_.push_back(seconds);
    processor_times_.push_back(static_cast<double>(std::clock() - processor_start) /
                               CLOCKS_PER_SEC);
  }

  Json figures() {
    std::ranges::sort(times_);
    return {{"update_s_min", times_.front()},
            {"update_s_median", times_[times_.size() / 2]},
            {"update_cpu_s_min", std::ranges::min(processor_times_)},
            {"slots", slots_}};
  }

 private:
  compiler::Program program_;
  pjrt::Executable executable_;
  std::vector<pjrt::Buffer> state_;
  std::int64_t slots_ = 0;
  std::vector<double> times_, processor_times_;
};

}  // namespace

Json time_updates(const std::shared_ptr<const pjrt::Client>& client,
                  const std::vector<model::StateTensor>& parameters,
                  const std::vector<NamedOptimizer>& optimizers, std::int64_t steps) {
  std::vector<pjrt::Buffer> gradients;
  for (const model::StateTensor& parameter : parameters)
    gradients.push_back(drawn(*client, parameter, 2));
  std::vector<TimedUpdate> updates;
  updates.reserve(optimizers.size());
  for (const NamedOptimizer& o : optimizers) updates.emplace_back(*client, parameters, o.optimizer);
  for (std::int64_t step = 0; step <= steps; ++step)
    for (TimedUpdate& update : updates)
      update.run(gradients, static_cast<std::int32_t>(step), step > 0);
  Json out;
  for (std::size_t i = 0; i < updates.size(); ++i) out[optimizers[i].name] = updates[i].figures();
  return out;
}

}  // namespace smelt::cli
