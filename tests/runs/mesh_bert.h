// A tiny BERT whose sizes eight devices divide, and batches for it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/input_pipeline/batch.h"
#include "model/tasks/bert_task.h"
#include "model/train_step/program.h"
#include "runs/state_values.h"

namespace smelt {

// Hidden 64, eight heads, two layers, 328 words, sequences of 16 with at most 4 masks.
model::BertTask mesh_bert(double dropout = 0.1);

// Random tokens; rows differ in length and in how many tokens are masked, as in real data.
data::Batch mesh_batch(const io::Features& features, std::int64_t rows, std::uint64_t seed);

// Steps of 32 rows.
model::TrainingConfig mesh_config(std::int64_t devices);

// The mesh of a recipe's words, and one program over it on any platform.
model::ShardingPlan mesh_placement(const std::string& mesh, bool split_slots = false);

constexpr int kMeshSteps = 5;

struct MeshRan {
  std::vector<float> losses;  // of kMeshSteps
  StateValues first;          // the state after the first step
};

// Steps from fresh weights, all on one batch.
MeshRan run_mesh_steps(const std::shared_ptr<const pjrt::Client>& client,
                       const model::BertTask& bert, const model::TrainingConfig& config,
                       const model::ShardingPlan& placement);

}  // namespace smelt
