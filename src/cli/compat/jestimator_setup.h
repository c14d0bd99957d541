// What the flags of the original JEstimator's estimator.py come to.
#pragma once

#include <string>

#include "cli/compat/jestimator_flags.h"
#include "execution/inference/scorer.h"
#include "execution/train_state/resume.h"
#include "train/trainer.h"

namespace smelt {

enum class EstimatorMode { train, eval_once, eval_wait, predict };

// The checkpoint to go on from, by the original's order: --checkpoint_path where it lies in
// --model_dir; else the newest in --model_dir; else --checkpoint_path.
struct StartingPoint {
  std::string path;     // of a checkpoint or a folder of some; empty: none
  bool own = false;     // it lies in --model_dir
  bool newest = false;  // of --model_dir, so that an older one may stand in for a damaged one
};
StartingPoint starting_point(const JestimatorFlags& flags);

// As --mode says, or as the original guesses it. UsageError for flags that do not go together.
EstimatorMode mode_of(const JestimatorFlags& flags, const StartingPoint& start);

// UsageError for a module that is not one of the three, and for what it lacks or has not.
JestimatorBertTask jestimator_task_of(const JestimatorFlags& flags);

// A checkpoint, or a folder's newest, of the model and the mask that the flags say.
TrainedModel load_jestimator(std::string_view command, const std::string& path,
                             const JestimatorFlags& flags);

// Model, optimizer, schedule and devices; --num_partitions is the mesh's axis tensor.
TrainJob jestimator_job(const JestimatorFlags& flags);

// What messages call a setting; `what` is valid or eval: whose batches are scored.
Fields jestimator_fields(const std::string& what, const std::string& end = "--max_train_steps");

// `examples` < 0: all. UsageError when they are fewer than one batch; `what` is valid, eval, pred.
HeldOut held_out_of(const std::string& what, const std::string& pattern, std::int64_t batch,
                    std::int64_t examples);

// The original's names of an evaluation's figures: valid_loss, valid_mrr.
std::vector<MeasuredValue> valid_metrics(const Evaluation& evaluation);

}  // namespace smelt
