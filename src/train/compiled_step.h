// A program of a task compiled for the devices of a client, run on host batches.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/batch.h"
#include "runtime/executable.h"
#include "train/model_state.h"
#include "train/program.h"

namespace smelt {

// The compiler's own figures for a program that is too large, and the settings that help most.
// `where` begins the message. Another error is thrown on as it is: call it where it was caught.
[[noreturn]] void throw_does_not_fit(const PjrtError& error, const std::string& where);

class CompiledStep {
 public:
  // The client has at least the placement's devices. UsageError for a program that does not fit.
  CompiledStep(std::shared_ptr<const Client> client, const StepProgram& program);

  // Each device gets its rows of the batch. `step` for programs that take one.
  Execution run(const Batch& batch, const ModelState& state,
                std::optional<std::int64_t> step = {}) const;

  const Executable& executable() const { return executable_; }

 private:
  void put_batch(const Batch& batch, int device, std::vector<Buffer>& out) const;

  std::shared_ptr<const Client> client_;
  Placement placement_;
  bool takes_step_, takes_replica_;
  Executable executable_;
};

}  // namespace smelt
