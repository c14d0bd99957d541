// The program that prunes a model's weights between two training steps.
#pragma once

#include "model/train_step/program.h"

namespace smelt::model {

// Builds the pruning program. Arguments: the number of weights to keep (s32; for soft pruning the
// smallest score to keep, as f32 bits), then the state of the training program. Results: the state,
// donated, with pruned weights of its prunable matrices (model/optim/pruning.h) set to 0, then the
// number of nonzero weights (s32). Weights are pruned if their magnitude, movement or score is
// below that of the last one kept; ties are kept, so more weights than requested may remain. Zeros
// stay 0 whatever their movement. With N:M sparsity the number of weights to keep is ignored; of
// equal weights in a group, the first ones are kept. The program runs on the devices with the
// sharding of the parameters. Throws UsageError if the group size of the pattern does not divide
// the inputs of a matrix.
StepProgram prune_program(const StepProgram& training, const Pruning& pruning);

// Returns the number of weights in the prunable matrices.
std::uint64_t prunable_weights(const StateLayout& state);

}  // namespace smelt::model
