// Features shared by tasks on token sequences.
#pragma once

#include "io/formats/feature.h"
#include "model/models/encoder.h"
#include "model/tasks/task.h"

namespace smelt::model {

// Returns input_ids, input_mask and segment_ids of S tokens.
io::Features token_features(const BertConfig& model, std::int64_t S);
// Returns masked_lm_positions: P positions below S.
io::Feature masked_positions_feature(std::int64_t S, std::int64_t P);
// Returns masked_lm_ids: the ids of the words at P positions.
io::Feature masked_ids_feature(std::int64_t vocab_size, std::int64_t P);
// Returns the encoder's inputs. If `outputs` is not null, it receives the hidden states.
EncoderInputs encoder_inputs(const Inputs& in, ForwardOutputs* outputs = nullptr);
// Returns the mean over the tokens of hidden states f32 [B,S,H] with input_mask [B,S]: [B,H].
compiler::Tensor mean_state(compiler::Tensor sequence, compiler::Tensor mask);
// Returns the hidden states of the first tokens: [B,H].
compiler::Tensor first_state(compiler::Tensor sequence);
// Returns the sizes of the encoder's stack of layers.
std::vector<StackSizes> encoder_stack(const BertConfig& model);

}  // namespace smelt::model
