// Requirements of a recipe's run, estimated before it starts: memory, disk space, time and matching
// weights. Writes nothing. Estimates use the program that check_program() has built
// (pipeline/config/train_job.h); they are 0 or empty for a type of model without such a program.
#pragma once

#include <optional>
#include <string>

#include "pipeline/config/recipe.h"

namespace smelt::pipeline {

// Bytes of memory on one device that are known without a compiler.
struct DeviceMemory {
  // Parameters (gradients need the same amount again), and optimizer state.
  double values = 0, slots = 0;
  double batch = 0;  // one batch of examples
  double least() const { return 2 * values + slots + batch; }
};
DeviceMemory device_memory(const Recipe& recipe);

// Throws UsageError if the run uses this machine's CPU and the memory is too small for state and
// batch. Fast enough to call before every run.
void check_machine_memory(const Recipe& recipe);

// Bytes of disk space that the run needs in recipe.out.
struct DiskNeed {
  double text = 0, records = 0;     // estimate; 0 if the files exist already
  double checkpoint = 0;            // one checkpoint
  double checkpoints = 0;           // all checkpoints that exist at the same time
  double checkpoints_there = 0;     // checkpoints that exist already
  std::optional<double> free = {};  // free space; nullopt for a remote store
  double least() const { return text + records + checkpoint; }
  double most() const { return text + records + checkpoints - checkpoints_there; }
};
DiskNeed disk_need(const Recipe& recipe);
// Throws UsageError if not even one checkpoint fits. Logs a warning if not all checkpoints fit.
void check_disk(const Recipe& recipe, const DiskNeed& need);

// Returns how many parameters a new run reads from train.init_from: "23 of 25". Empty if
// train.init_from is empty. Throws UsageError if the shapes differ. Logs a warning if the
// vocabulary differs.
std::string initial_weights_text(const Recipe& recipe);

// Returns the estimated time of all steps on this machine's devices: "about 3.2 days: …" and what
// the estimate is based on.
std::string time_text(const Recipe& recipe);

}  // namespace smelt::pipeline
