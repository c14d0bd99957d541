// A tiny BERT whose dimensions can be split among eight devices, and batches for it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/input_pipeline/batch.h"
#include "model/tasks/bert_task.h"
#include "model/train_step/program.h"
#include "runs/state_values.h"

namespace smelt {

// Hidden size 64, eight heads, two layers, a vocabulary of 328, and sequences of 16 tokens with at
// most 4 masks.
model::BertTask mesh_bert(double dropout = 0.1);

// Returns random tokens. As in real data, rows differ in length and in the number of masked tokens.
data::Batch mesh_batch(const io::Features& features, std::int64_t rows, std::uint64_t seed);

// Returns a configuration with batches of 32 rows.
model::TrainingConfig mesh_config(std::int64_t devices);

// Returns the plan for eight devices and a mesh in a recipe's notation. On any platform, one
// program runs on all devices.
model::ShardingPlan mesh_placement(const std::string& mesh, bool split_slots = false);

constexpr int kMeshSteps = 5;

struct MeshRan {
  std::vector<float> losses;  // of kMeshSteps steps
  StateValues first;          // the state after the first step
};

// Runs kMeshSteps steps from fresh weights, all on the same batch.
MeshRan run_mesh_steps(const std::shared_ptr<const pjrt::Client>& client,
                       const model::BertTask& bert, const model::TrainingConfig& config,
                       const model::ShardingPlan& placement);

}  // namespace smelt
