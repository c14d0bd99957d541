// What a run has learned, as numbers by name.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "execution/train_state/model_state.h"

namespace smelt {

using StateValues = std::map<std::string, std::vector<float>>;

StateValues values_of(const execution::ModelState& state);

// Names and bytes of all tensors that the checkpoint of this step holds.
std::string stored_values(const std::string& model_dir, std::int64_t step);

// Every tensor within `limit` of the other by the norm of their difference over its norm; of
// squared gradients twice the limit. A key's bias is left out: it shifts all scores of a query
// alike, so its gradient is nothing but rounding, which Adam scales up.
void expect_same_state(const StateValues& got, const StateValues& want, double limit);

}  // namespace smelt
