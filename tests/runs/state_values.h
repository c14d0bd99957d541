// The values of a training state, by tensor name.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "execution/train_state/model_state.h"

namespace smelt {

using StateValues = std::map<std::string, std::vector<float>>;

StateValues values_of(const execution::ModelState& state);

// Returns the names and bytes of all tensors in this step's checkpoint.
std::string stored_values(const std::string& model_dir, std::int64_t step);

// Expects that the norm of each tensor's difference is at most `limit` times the tensor's norm
// (twice that for averages of squared gradients). Skips the bias of keys: it shifts all scores of a
// query equally, so its gradient is only rounding error, which Adam amplifies.
void expect_same_state(const StateValues& got, const StateValues& want, double limit);

}  // namespace smelt
