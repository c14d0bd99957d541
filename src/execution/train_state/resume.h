// What makes a run the same run, and whether a checkpoint is of it.
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

namespace smelt {

// How the data are read and what is computed from them, as it is kept in every checkpoint, with the
// checksum of the vocabulary's file if that is known.
Json run_settings(const Task& task, const TrainingConfig& config, const ExampleSource& source,
                  const std::string& vocab);

// UsageError naming the fields that differ, in the words of `fields`, with both values; `where`
// begins the message. What only one side knows (of another version) is not compared, nor is the
// schedule.
void check_same_run(const Json& saved, const Json& now, const std::string& where,
                    const Fields& fields = recipe_field);

// UsageError when the file `vocab` is not the vocabulary that a model was trained with. An empty
// path, or settings that do not say, pass.
void check_vocabulary(const Json& saved, const std::string& vocab, const std::string& where);

// The same of data that say what they were made with.
void check_data_vocabulary(const Json& saved, const ExampleSource& source,
                           const std::string& where);

// What the schedule and the settings of spikes, which a resumed run is not held to, were and are,
// where they differ: "train.optimizer.learning_rate was 0.001, is 0.01"; else empty.
std::string changed_freely(const Json& saved, const Json& now, const Fields& fields);

// What a longer run does with the learning rate of the run that it continues.
struct RateChange {
  std::string
      text;  // "train.steps was 200, is 400: the learning rate goes on at 5.0e-04, it was …"
  bool rises = false;  // to more than twice the last rate
};
// Compares the rates before and after `step`. Returns nullopt if the number of steps is the same or
// was not recorded.
std::optional<RateChange> rate_goes_on(const Json& saved, const Schedule& now, std::int64_t step,
                                       const Fields& fields);

struct TrainedModel {
  SlicedCheckpoint checkpoint;
  std::string where;  // to begin messages with
};

// A folder's newest checkpoint, or one by its own path, for what only uses a model: its settings'
// field "model" must be `model` (null: any) but for what matters in training alone, its vocabulary
// the file `vocab` (empty: any); `fields` are what messages call the model's.
// UsageError beginning with `command` when there is none, or naming what differs. Where the run
// keeps moving averages, `averaged` takes them for the weights, which is logged.
TrainedModel load_trained_model(std::string_view command, const std::string& model_dir,
                                const Json& model, const std::string& vocab, bool averaged = true,
                                const Fields& fields = recipe_field);

}  // namespace smelt
