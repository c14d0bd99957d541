// A pre-training program compiled for the devices of a client, run on host batches.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "data/record_source.h"
#include "runtime/executable.h"
#include "train/model_state.h"
#include "train/pretraining.h"

namespace smelt {

class CompiledStep {
 public:
  // The client has at least config.devices devices.
  CompiledStep(std::shared_ptr<const Client> client, const PretrainingConfig& config,
               const PretrainingProgram& program);

  // Arguments in the program's order: the batch, `scalars` (the step), then the state. Each device
  // gets its rows of the batch; a per-replica program also gets the replica's number.
  Execution run(const BertBatch& batch, std::span<const std::int32_t> scalars,
                const ModelState& state) const;

  const Executable& executable() const { return executable_; }

 private:
  std::vector<Buffer> put_batch(const BertBatch& batch, int device) const;

  std::shared_ptr<const Client> client_;
  int devices_;
  bool per_replica_;
  Executable executable_;
};

}  // namespace smelt
