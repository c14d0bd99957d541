// How a job's step may be made where the job leaves it open: what a run on devices tries, and what
// smelt plan tries for devices that are not there.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "train/trainer.h"

namespace smelt {

struct MemoryVariant {
  std::optional<Layers> layers = {};
  std::optional<RematPolicy> save = {};
  std::int64_t micro_batches = 0;  // 0: as the job has it
  std::string words = {};          // "loop, layers saved"
};

inline const MemoryVariant kLoopedForm{.layers = Layers::scan, .words = "loop"};
inline const MemoryVariant kUnrolledForm{.layers = Layers::unrolled, .words = "unrolled"};

// What is tried, one after another, where a job's own form does not fit: from the fastest to the
// one that needs least memory.
std::vector<MemoryVariant> smaller_forms(const TrainJob& job);
TrainJob in_form(TrainJob job, const MemoryVariant& form);
// Whether two make one program of a job: "loop" is a job's own form, too, where that is a loop.
bool is_same_form(const TrainJob& job, const MemoryVariant& a, const MemoryVariant& b,
                  const std::string& platform);
// That choose it, by the fields' names: {"train.memory.layers=scan",
// "train.memory.remat_policy=layer"}.
std::vector<std::string> settings_of(const MemoryVariant& form, const Fields& fields);

// A compiler's word that a step takes more memory than a device has.
struct StepDoesNotFit : UsageError {
  explicit StepDoesNotFit(const UsageError& error) : UsageError(error) {}
};

// Whether a job leaves its layers and what they save open.
bool leaves_form_open(const TrainJob& job);
// Runs a job; where its layers and what they save are left open and its step does not fit, in the
// first of the smaller forms whose does, said in a warning. The last one's error where none does.
void in_a_form_that_fits(const TrainJob& job, const std::function<void(const TrainJob&)>& run);

}  // namespace smelt
