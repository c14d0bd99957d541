// What a recipe's run will need, judged before it: memory, disk, time, weights that fit. Nothing is
// written. By the program that check_program() has built (pipeline/pipeline.h); where a type of
// model has none built, what depends on it is 0 or empty.
#pragma once

#include <optional>
#include <string>

#include "pipeline/recipe.h"

namespace smelt {

// Bytes of memory that are known without a compiler, on one device.
struct DeviceMemory {
  double values = 0, slots = 0;  // parameters, as much again of gradients; the optimizer's
  double batch = 0;              // of its rows
  double least() const { return 2 * values + slots + batch; }
};
DeviceMemory device_memory(const Recipe& recipe);

// UsageError where the devices are this machine's CPU and its memory cannot hold state and batch.
// Cheap enough for every run.
void check_machine_memory(const Recipe& recipe);

// Bytes on the disk of recipe.out.
struct DiskNeed {
  double text = 0, records = 0;     // about; of what is not there yet
  double checkpoint = 0;            // one of them
  double checkpoints = 0;           // all that there are at one time
  double checkpoints_there = 0;     // of them, already
  std::optional<double> free = {};  // nothing of an object store
  double least() const { return text + records + checkpoint; }
  double most() const { return text + records + checkpoints - checkpoints_there; }
};
DiskNeed disk_need(const Recipe& recipe);
// UsageError where not even one checkpoint fits; a warning where not all do.
void check_disk(const Recipe& recipe, const DiskNeed& need);

// The parameters that a new run takes from train.init_from, "23 of 25"; empty without
// train.init_from. UsageError for weights of other shapes; warnings for another vocabulary.
std::string initial_weights_text(const Recipe& recipe);

// How long all steps take on devices that are here, estimated: "about 3.2 days: …" with what that
// is taken from.
std::string time_text(const Recipe& recipe);

}  // namespace smelt
