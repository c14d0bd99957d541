// Translates the flags of the original JEstimator's estimator.py into smelt's settings.
#pragma once

#include <string>

#include "cli/compat/jestimator_flags.h"
#include "execution/inference/scorer.h"
#include "execution/train_state/resume.h"
#include "train/trainer.h"

namespace smelt::cli {

enum class EstimatorMode { train, eval_once, eval_wait, predict };

// The checkpoint that a run starts from, chosen as in the original: --checkpoint_path if it is in
// --model_dir; else the newest in --model_dir; else --checkpoint_path.
struct StartingPoint {
  std::string path;     // a checkpoint or a folder of checkpoints; empty: none
  bool own = false;     // it is in --model_dir
  bool newest = false;  // the newest in --model_dir: an older one may replace it if it is damaged
};
StartingPoint starting_point(const JestimatorFlags& flags);

// Returns --mode, or the mode that the original infers from the other flags. Throws UsageError for
// flags that cannot be combined.
EstimatorMode mode_of(const JestimatorFlags& flags, const StartingPoint& start);

// Returns the task of the module that --module_imp names. Throws UsageError if the module is not
// the pretrain module of bert, rope or bert_rpe, if a flag that it requires is missing, or if it
// does not have a flag that was given.
model::JestimatorBertTask jestimator_task_of(const JestimatorFlags& flags);

// Loads a checkpoint, or the newest of a folder, for the model and the masking of the flags.
execution::TrainedModel load_jestimator(std::string_view command, const std::string& path,
                                        const JestimatorFlags& flags);

// Returns the job: model, optimizer, schedule and devices. --num_partitions is the size of the mesh
// axis `tensor`.
train::TrainJob jestimator_job(const JestimatorFlags& flags);

// Returns how messages name settings: by the original's flags. `what`, "valid" or "eval", selects
// the flags of that dataset. `end` is the flag that determines the number of steps.
Fields jestimator_fields(const std::string& what, const std::string& end = "--max_train_steps");

// Returns the eval set; `examples` < 0 means all. `what` is "valid", "eval" or "pred". Throws
// UsageError if there are fewer examples than one batch.
execution::HeldOut held_out_of(const std::string& what, const std::string& pattern,
                               std::int64_t batch, std::int64_t examples);

// Returns metrics under the original's names: valid_loss, valid_mrr.
std::vector<model::MeasuredValue> valid_metrics(const execution::Evaluation& evaluation);

}  // namespace smelt::cli
