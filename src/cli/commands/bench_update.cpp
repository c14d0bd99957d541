#include "cli/commands/bench_update.h"

#include <algorithm>
#include <ctime>

#include "base/clock.h"
#include "compiler/ops/ops.h"
#include "execution/train_state/initialize.h"
#include "model/train_step/sharding_plan.h"
#include "pjrt/executable.h"

namespace smelt {
namespace {

// Returns the update program. Arguments: values and slots (both donated), gradients, the step.
// Results: new values and slots.
Program update_program(const std::vector<StateTensor>& parameters, const Optimizer& optimizer,
                       std::string_view platform) {
  Program p;
  p.form = placement_for(platform, 1, Reduction::global).form;
  std::vector<Parameter> all;
  for (const StateTensor& t : parameters)
    all.push_back({t.name, p.graph.argument(t.shape), t.init, t.layers});
  std::vector<std::vector<Tensor>> slots;
  for (const Parameter& parameter : all) {
    auto& own = slots.emplace_back();
    for (const Slot& slot : optimizer.slots(parameter))
      own.push_back(p.graph.argument({DType::f32, stacked_dims(parameter.layers, slot.dims)}));
  }
  const std::size_t donated = p.graph.arguments().size();
  std::vector<Tensor> gradients, new_slots;
  for (const StateTensor& t : parameters) gradients.push_back(p.graph.argument(t.shape));
  const Tensor step = p.graph.argument({DType::s32, {}});
  const OptimizerStep at{.rate = constant(p.graph, 1e-3, DType::f32),
                         .step = step,
                         .sums_in_slices = p.form.sums_as_products};
  for (std::size_t i = 0; i < all.size(); ++i) {
    const UpdatedParameter next = optimizer.update(at, all[i], slots[i], gradients[i]);
    p.results.push_back(next.value);
    new_slots.insert(new_slots.end(), next.slots.begin(), next.slots.end());
  }
  p.results.insert(p.results.end(), new_slots.begin(), new_slots.end());
  for (std::size_t i = 0; i < donated; ++i) p.donated_by.push_back(static_cast<std::int64_t>(i));
  return p;
}

Buffer drawn(const Client& client, const StateTensor& parameter, std::uint64_t seed) {
  std::vector<float> values(static_cast<std::size_t>(parameter.shape.elements()));
  draw_initial(parameter, seed, values);
  return smelt::to_device(client, values, parameter.shape);
}

// One optimizer with its own state, for timing.
class TimedUpdate {
 public:
  TimedUpdate(const Client& client, const std::vector<StateTensor>& parameters,
              const Optimizer& optimizer)
      : program_(update_program(parameters, optimizer, client.platform_name())),
        executable_(client.compile(emit_module(program_, "update"))) {
    for (std::size_t i = 0; i < program_.results.size(); ++i) {
      const Shape& shape = program_.results[i].shape();
      if (i >= parameters.size()) slots_ += shape.elements();
      state_.push_back(i < parameters.size()
                           ? drawn(client, parameters[i], 1)
                           : smelt::to_device(client, std::vector<float>(shape.elements()), shape));
    }
  }

  void run(const std::vector<Buffer>& gradients, std::int32_t step, bool timed) {
    const Buffer at =
        smelt::to_device<std::int32_t>(executable_.client(), {step}, {DType::s32, {}});
    std::vector<const Buffer*> arguments;
    for (const Buffer& buffer : state_) arguments.push_back(&buffer);
    for (const Buffer& buffer : gradients) arguments.push_back(&buffer);
    arguments.push_back(&at);
    const auto start = Clock::now();
    const std::clock_t processor_start = std::clock();
    Execution execution = executable_.execute({arguments});
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
  Program program_;
  Executable executable_;
  std::vector<Buffer> state_;
  std::int64_t slots_ = 0;
  std::vector<double> times_, processor_times_;
};

}  // namespace

Json time_updates(const std::shared_ptr<const Client>& client,
                  const std::vector<StateTensor>& parameters,
                  const std::vector<NamedOptimizer>& optimizers, std::int64_t steps) {
  std::vector<Buffer> gradients;
  for (const StateTensor& parameter : parameters) gradients.push_back(drawn(*client, parameter, 2));
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

}  // namespace smelt
