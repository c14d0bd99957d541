// The program that sets a model's smallest weights to 0 between two steps of its training.
#pragma once

#include "model/train_step/program.h"

namespace smelt {

// Arguments: how many weights stay (s32; softly the least score that stays, as the bits of an f32),
// then the state of that training program. Results: the
// same state, donated, with the others of its prunable matrices (model/optim/pruning.h) 0: those
// whose size, movement or score is below that of the last one that stays, whose equals stay, too;
// what is 0 does so whatever its movement; and behind it how many of these weights are other than 0
// (s32), which a tie makes more than were to stay. In a pattern the number says nothing, and of
// equal neighbours the first stay. Nothing is moved to the host, and devices share the work as they
// share the parameters. UsageError for a matrix whose inputs a pattern does not divide.
StepProgram prune_program(const StepProgram& training, const Pruning& pruning);

// How many weights these matrices have.
std::uint64_t prunable_weights(const StateLayout& state);

}  // namespace smelt
