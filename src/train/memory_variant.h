// Memory fallbacks: variants of a job's step that need less memory. A training run tries them on
// its devices, and `smelt plan` for devices that are not present.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "train/trainer.h"

namespace smelt::train {

struct MemoryVariant {
  std::optional<model::Layers> layers = {};
  std::optional<compiler::RematPolicy> save = {};
  std::int64_t micro_batches = 0;  // 0: the job's number
  std::string words = {};          // description: "loop, layer rematerialization"
};

inline const MemoryVariant kScanVariant{.layers = model::Layers::scan, .words = "loop"};
inline const MemoryVariant kUnrolledVariant{.layers = model::Layers::unrolled, .words = "unrolled"};

// Returns the fallbacks to try if a job's own variant does not fit, from the fastest to the one
// that needs least memory.
std::vector<MemoryVariant> memory_fallbacks(const TrainJob& job);
TrainJob in_form(TrainJob job, const MemoryVariant& form);
// Returns whether two variants give the same program for a job. "loop" is the same as the job's own
// variant if that uses a loop.
bool is_same_variant(const TrainJob& job, const MemoryVariant& a, const MemoryVariant& b,
                     const std::string& platform);
// Returns the settings that select a variant, with the names that `fields` returns:
// {"train.memory.layers=scan", "train.memory.remat_policy=layer"}.
std::vector<std::string> settings_of(const MemoryVariant& form, const Fields& fields);

// Thrown if the compiler finds that a step needs more memory than a device has.
struct StepDoesNotFit : UsageError {
  explicit StepDoesNotFit(const UsageError& error) : UsageError(error) {}
};

// Returns whether a job leaves layers and rematerialization to smelt, so that fallbacks are
// allowed.
bool allows_memory_fallback(const TrainJob& job);
// Runs the job. If its step does not fit and the job allows fallbacks, logs a warning and tries the
// next variant. Throws the error of the last variant if none fits.
void run_with_memory_fallback(const TrainJob& job, const std::function<void(const TrainJob&)>& run);

}  // namespace smelt::train
