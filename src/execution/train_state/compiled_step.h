// A program of a task compiled for the devices of a client, run on host batches.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "data/input_pipeline/example_source.h"
#include "execution/train_state/model_state.h"
#include "model/train_step/program.h"
#include "model/train_step/sharding_plan.h"
#include "pjrt/executable.h"

namespace smelt {

// What is said of work that does not fit into a device's memory.
struct MemoryAdvice {
  std::string what;  // begins the message: "train: a step"
  std::string hint;  // what helps most, in the command's own words
};
MemoryAdvice advice_for_training(const std::string& what, const Fields& fields);

// A compiler's word that a program takes more memory than a device has.
struct ProgramDoesNotFit : UsageError {
  explicit ProgramDoesNotFit(const UsageError& error) : UsageError(error) {}
};

// UsageError with the plugin's own figures. Another error is thrown on as it is: call it where it
// was caught.
[[noreturn]] void throw_does_not_fit(const PjrtError& error, const MemoryAdvice& advice);

// What the work gives. A want of memory that only shows in it is said, too.
template <class Work>
auto fitting(const MemoryAdvice& advice, Work&& work) try {
  return work();
} catch (const PjrtError& error) {
  throw_does_not_fit(error, advice);
}

// The rows of each batch that this process's devices take, where each of several reads its own.
HostShare own_share(const ShardingPlan& placement, const Client& client);

class CompiledStep {
 public:
  // The client has at least the placement's devices. What the program holds as it is given is read
  // and put there, unless another step of the same has done it: `held`. ProgramDoesNotFit for one
  // that does not.
  CompiledStep(std::shared_ptr<const Client> client, const StepProgram& program,
               MemoryAdvice advice = advice_for_training("train: a step", recipe_field),
               std::shared_ptr<const ModelState> held = {});

  // Each device gets its rows of the batch, which is all of it or own_share() of it. `step` for
  // programs that take one, `wishes` for those that take them. The step may turn out not to fit
  // when its results are read.
  Execution run(const Batch& batch, const ModelState& state, std::optional<std::int64_t> step = {},
                const ConsensusFlags& wishes = {}) const;

  const Executable& executable() const { return executable_; }
  // What it holds; null: nothing.
  const std::shared_ptr<const ModelState>& held() const { return held_; }

 private:
  Execution start(const Batch& batch, const ModelState& state, std::optional<std::int64_t> step,
                  const ConsensusFlags& wishes) const;
  void put_batch(const Batch& batch, const OwnDevice& to, std::vector<Buffer>& out) const;
  Buffer put_wishes(const ConsensusFlags& wishes, int device) const;

  std::shared_ptr<const Client> client_;
  MemoryAdvice advice_;
  ShardingPlan placement_;
  std::vector<OwnDevice> devices_;
  HostShare share_;
  std::int64_t batch_rows_;  // of all devices
  StateLayout held_layout_, state_;
  bool takes_step_, takes_replica_, takes_wishes_;
  std::function<float(std::int64_t step)> rate_;
  Executable executable_;
  std::shared_ptr<const ModelState> held_;
  std::vector<Buffer> keys_;  // of each device; put once
};

}  // namespace smelt
