// The features that examples of tokens have in common.
#pragma once

#include "io/formats/feature.h"
#include "model/models/encoder.h"
#include "model/tasks/task.h"

namespace smelt {

// input_ids, input_mask and segment_ids of S tokens.
Features token_features(const BertConfig& model, std::int64_t S);
// masked_lm_positions: P positions of S.
Feature masked_positions_feature(std::int64_t S, std::int64_t P);
// `told` receives what the layers give; null: nobody asks.
EncoderInputs encoder_inputs(const Inputs& in, ForwardOutputs* told = nullptr);
// The one stack of such an encoder.
std::vector<StackSizes> encoder_stack(const BertConfig& model);

}  // namespace smelt
