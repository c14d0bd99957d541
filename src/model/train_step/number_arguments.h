// The numbers that a program takes beside its batch and its state, as arguments.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "model/nn/scope.h"
#include "model/train_step/program.h"

namespace smelt {

// Of training: the step, and with replicas the replica's number: what random numbers depend on
// beside their keys. `rows` are a replica's.
RandomSource random_arguments(StepProgram& out, const TrainingConfig& config, std::int64_t rows);
// What an evaluation that draws does so by: examples are numbered over all batches.
std::optional<RandomSource> numbered_examples(bool draws, StepProgram& out,
                                              std::int64_t batch_size);
std::shared_ptr<SeedKeys> keys_argument(Graph& graph);

// The schedule's rate by the steps done.
std::function<float(std::int64_t step)> rate_by_step(const TrainingConfig& config);

}  // namespace smelt
