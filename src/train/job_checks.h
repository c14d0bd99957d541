// Whether a training's data and validation are what the job wants.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "train/trainer.h"

namespace smelt {

// UsageError when a description beside the data says what does not fit the task or the vocabulary;
// a warning for fewer examples than a batch has.
void check_described(const TrainJob& job, const ExampleSource& source);
// A warning where a schedule never reaches its learning rate.
void warn_of_warmup(const Schedule& schedule, const Optimizer& optimizer, const Fields& fields);
// That, and one where examples have room for more masks than tokens.
void warn_of_settings(const TrainJob& job);
// UsageError when this machine, where it is the device, cannot hold the state even once: drawing
// and compiling it would take for ever.
void check_memory(const StepProgram& program, std::string_view platform);
// What makes the job the same run, as its checkpoints keep it.
Json settings_of(const TrainJob& job, const ExampleSource& source);
// The step of its model folder that a resumed run would go on from; nothing where there is none.
// UsageError as that run would have it: of another run or another vocabulary. Tensors are not read.
std::optional<std::int64_t> check_resume(const TrainJob& job);
// UsageError when a folder that is to be emptied holds another model's folder: "small" may hold
// "small/v2".
void check_no_model_below(const std::string& model_dir);
// UsageError when the validation, which has the job's state_measures too, does not have what the
// best is kept of.
void check_best(const TrainJob& job, std::span<const ReportedMeasure> measured);

}  // namespace smelt
