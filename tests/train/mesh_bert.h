// A tiny BERT whose sizes eight devices divide, and batches for it.
#pragma once

#include <string>
#include <vector>

#include "data/batch.h"
#include "tasks/bert_task.h"
#include "train/program.h"

namespace smelt {

// Hidden 64, eight heads, two layers, 328 words, sequences of 16 with at most 4 masks.
BertTask mesh_bert(double dropout = 0.1);

// Random tokens; rows differ in length and in how many tokens are masked, as in real data.
Batch mesh_batch(const Features& features, std::int64_t rows, std::uint64_t seed);

// Steps of 32 rows.
TrainingConfig mesh_config(std::int64_t devices);

// The mesh of a recipe's words, and one program over it on any platform.
Placement mesh_placement(const std::string& mesh, bool split_slots = false);

}  // namespace smelt
