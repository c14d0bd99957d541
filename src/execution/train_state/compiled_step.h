// A step program compiled for the devices of a client, which runs on host batches.
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

namespace smelt::execution {

// The texts of an out-of-memory error.
struct MemoryAdvice {
  std::string what;  // begins the message, such as "train: a step"
  std::string hint;  // the setting that saves most memory, as the command names it
};
MemoryAdvice advice_for_training(const std::string& what, const Fields& fields);

// Thrown if the compiler finds that a program needs more memory than a device has.
struct ProgramDoesNotFit : UsageError {
  explicit ProgramDoesNotFit(const UsageError& error) : UsageError(error) {}
};

// Throws a UsageError with the memory sizes from the plugin's message if `error` is an
// out-of-memory error; otherwise rethrows the current exception. Call it from the catch block that
// caught `error`.
[[noreturn]] void throw_does_not_fit(const pjrt::PjrtError& error, const MemoryAdvice& advice);

// Returns the result of work(). Turns an out-of-memory PjrtError into a UsageError.
template <class Work>
auto fitting(const MemoryAdvice& advice, Work&& work) try {
  return work();
} catch (const pjrt::PjrtError& error) {
  throw_does_not_fit(error, advice);
}

// Returns this process's share of each batch: the rows of its devices. Returns the whole batch if
// the processes have different numbers of devices.
data::HostShare own_share(const model::ShardingPlan& placement, const pjrt::Client& client);

class CompiledStep {
 public:
  // Compiles the program. The client must have at least the placement's devices. Loads the values
  // of the program's frozen model onto the devices, unless `held` already has them from another
  // step with the same frozen model. Throws ProgramDoesNotFit if the program needs too much memory.
  CompiledStep(std::shared_ptr<const pjrt::Client> client, const model::StepProgram& program,
               MemoryAdvice advice = advice_for_training("train: a step", recipe_field),
               std::shared_ptr<const ModelState> held = {});

  // Runs the step; each device gets its rows of the batch, which is the global batch or own_share()
  // of it. Pass `step` and `wishes` (stop and save requests) if the program takes them. Execution
  // is asynchronous: an out-of-memory error may appear only when the results are read.
  pjrt::Execution run(const data::Batch& batch, const ModelState& state,
                      std::optional<std::int64_t> step = {},
                      const model::ConsensusFlags& wishes = {}) const;

  const pjrt::Executable& executable() const { return executable_; }
  // Returns the values of the frozen model on the devices, or null for a program without one.
  const std::shared_ptr<const ModelState>& held() const { return held_; }

 private:
  pjrt::Execution start(const data::Batch& batch, const ModelState& state,
                        std::optional<std::int64_t> step,
                        const model::ConsensusFlags& wishes) const;
  void put_batch(const data::Batch& batch, const pjrt::OwnDevice& to,
                 std::vector<pjrt::Buffer>& out) const;
  pjrt::Buffer put_wishes(const model::ConsensusFlags& wishes, int device) const;

  std::shared_ptr<const pjrt::Client> client_;
  MemoryAdvice advice_;
  model::ShardingPlan placement_;
  std::vector<pjrt::OwnDevice> devices_;
  data::HostShare share_;
  std::int64_t batch_rows_;  // over all devices
  model::StateLayout held_layout_, state_;
  bool takes_step_, takes_replica_, takes_wishes_;
  std::function<float(std::int64_t step)> rate_;
  pjrt::Executable executable_;
  std::shared_ptr<const ModelState> held_;
  std::vector<pjrt::Buffer> keys_;  // seed keys on each device
};

}  // namespace smelt::execution
