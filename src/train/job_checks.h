// Checks of a training job's data, settings, memory and folders.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "train/trainer.h"

namespace smelt::train {

// Throws UsageError if the description of the data does not fit the task or the vocabulary. Warns
// if there are fewer examples than a batch has.
void check_described(const TrainJob& job, const data::ExampleSource& source);
// Warns if the run ends before its warmup, so that the schedule never reaches its learning rate.
void warn_of_warmup(const model::Schedule& schedule, const model::Optimizer& optimizer,
                    const Fields& fields);
// Calls warn_of_warmup(). Also warns if data.max_predictions exceeds data.seq_length.
void warn_of_settings(const TrainJob& job);
// Throws UsageError if the device is the CPU and the state does not fit into host memory, before
// time is spent on initialization and compilation.
void check_memory(const model::StepProgram& program, std::string_view platform);
// Returns the settings that identify the run; they are stored in its checkpoints.
Json settings_of(const TrainJob& job, const data::ExampleSource& source);
// Returns the step from which a resumed run would continue, or nullopt if there is no checkpoint.
// Throws UsageError if the checkpoint belongs to another run or another vocabulary. Does not read
// tensors.
std::optional<std::int64_t> check_resume(const TrainJob& job);
// Throws UsageError if a folder that is to be emptied contains the folder of another model, such as
// "small/v2" in "small".
void check_no_model_below(const std::string& model_dir);
// Throws UsageError if checkpoint.best_metric is neither among the metrics of the evaluation nor
// among the job's state_measures.
void check_best(const TrainJob& job, std::span<const model::ReportedMeasure> measured);

}  // namespace smelt::train
