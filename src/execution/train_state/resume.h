// Checks that a checkpoint belongs to a run: comparison of their settings and vocabularies.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "checkpoint/storage/checkpoint.h"
#include "data/input_pipeline/example_source.h"
#include "model/optim/schedule.h"
#include "model/train_step/program.h"
#include "model/train_step/sharding_plan.h"

namespace smelt::execution {

// Returns the settings that are stored in every checkpoint: those of data reading and of the
// computation, and the CRC-32C of the vocabulary file if it is known.
Json run_settings(const model::Task& task, const model::TrainingConfig& config,
                  const data::ExampleSource& source, const std::string& vocab);

// Throws UsageError if settings differ. The message begins with `where` and lists the differing
// settings, under the names that `fields` returns, with both values. Does not compare settings that
// only one side has (from another version), nor those of the schedule, of loss spikes and of
// io::AnswerLimits.
void check_same_run(const Json& saved, const Json& now, const std::string& where,
                    const Fields& fields = recipe_field);

// Throws UsageError if the file `vocab` is not the vocabulary that a model was trained with. Does
// nothing if the path is empty or the settings contain no CRC.
void check_vocabulary(const Json& saved, const std::string& vocab, const std::string& where);

// Throws UsageError if the examples were made with another vocabulary than the model's. Does
// nothing if either is unknown.
void check_data_vocabulary(const Json& saved, const data::ExampleSource& source,
                           const std::string& where);

// Returns the old and new values of settings that a resumed run may change and that have changed,
// those of the schedule and of loss spikes: "train.optimizer.learning_rate was 0.001, is 0.01".
// Empty if none has changed.
std::string changed_settings(const Json& saved, const Json& now, const Fields& fields);

// The change of the learning rate when a run resumes with another total number of steps.
struct RateChange {
  // "train.steps was 200, is 400: the learning rate continues at 5.0e-04, it was …"
  std::string text;
  bool rises = false;  // whether the new rate is more than twice the last one before the resume
};
// Compares the learning rates before and after `step`. Returns nullopt if the number of steps is
// unchanged or was not recorded.
std::optional<RateChange> rate_change(const Json& saved, const model::Schedule& now,
                                      std::int64_t step, const Fields& fields);

// The point at which the old and the new schedule of a resumed run are compared. Each schedule
// counts steps or milliseconds of training.
struct SchedulePoint {
  std::int64_t last = 0;  // unit of the last step in the checkpoint's schedule
  std::int64_t next = 0;  // unit of the next step in the new schedule
  std::string length;     // "train.length was 6 seconds, is 7 seconds"
};
// Compares the learning rates as rate_change() does. Returns nullopt if the checkpoint has no
// schedule.
std::optional<RateChange> rate_change_at(const Json& saved, const model::Schedule& now,
                                         std::int64_t step, const SchedulePoint& point,
                                         const Fields& fields);
// Returns the number of units of a checkpoint's schedule; 0 if it was not recorded.
std::int64_t saved_schedule_length(const Json& saved);
// Returns `now` with the warm-up and decay of `saved`, so that changed_settings() does not report
// them as changed. Their units differ if only one of the two runs has a length in hours.
Json with_saved_parts(const Json& saved, Json now);

struct TrainedModel {
  checkpoint::SlicedCheckpoint checkpoint;
  std::string where;  // path of the checkpoint, for messages
};

// Loads a trained model for inference or evaluation: the latest checkpoint of a model folder, or
// the checkpoint at that path. With `averaged`, moving averages replace the weights if the
// checkpoint has them, which is logged. Throws UsageError, whose message begins with `command`, if
// there is no checkpoint. Also throws UsageError if its vocabulary is not the file `vocab` (empty:
// not checked), or if its settings "model" differ from `model` (null: not checked), apart from
// settings that matter only in training. `fields` names the settings in messages.
TrainedModel load_trained_model(std::string_view command, const std::string& model_dir,
                                const Json& model, const std::string& vocab, bool averaged = true,
                                const Fields& fields = recipe_field);

}  // namespace smelt::execution
