#include "model/tasks/token_features.h"

#include "compiler/ops/ops.h"
#include "io/formats/packing_features.h"

namespace smelt::model {

using compiler::broadcast_in_dim;
using compiler::convert;
using compiler::DType;
using compiler::reduce_sum;
using compiler::reshape;
using compiler::slice_axis;
using compiler::Tensor;

// Number of segments of a text pair. Models without segments accept them too.
constexpr std::int64_t kSegments = 2;

io::Features token_features(const BertConfig& model, std::int64_t S) {
  return {{.name = "input_ids", .row = {S}, .limit = model.vocab_size, .limit_name = "vocab_size"},
          {.name = "input_mask", .row = {S}, .limit = 2, .limit_name = "a mask of"},
          {.name = "segment_ids",
           .row = {S},
           .limit = model.reads_segments ? model.type_vocab_size : kSegments,
           .limit_name = "type_vocab_size"}};
}

io::Feature masked_positions_feature(std::int64_t S, std::int64_t P) {
  return {.name = "masked_lm_positions", .row = {P}, .limit = S, .limit_name = "seq_length"};
}

io::Feature masked_ids_feature(std::int64_t vocab_size, std::int64_t P) {
  return {.name = "masked_lm_ids", .row = {P}, .limit = vocab_size, .limit_name = "vocab_size"};
}

EncoderInputs encoder_inputs(const Inputs& in, ForwardOutputs* outputs) {
  EncoderInputs out{.input_ids = in["input_ids"],
                    .input_mask = in["input_mask"],
                    .segment_ids = in["segment_ids"]};
  if (in.has(io::kPackedTokens))
    out.packing = {.tokens = in[io::kPackedTokens],
                   .starts = in[io::kPackedStarts],
                   .rows = in[io::kPackedRows]};
  if (outputs) {
    out.states = &outputs->stacks.at(0);
    out.states->mask = out.input_mask;
  }
  return out;
}

Tensor mean_state(Tensor sequence, Tensor mask) {
  const Tensor counts = convert(mask, DType::f32);
  const Tensor sums = reduce_sum(sequence * broadcast_in_dim(counts, sequence.dims(), {0, 1}), {1});
  const Tensor tokens = reduce_sum(counts, {1}) + 1e-9;
  return sums / broadcast_in_dim(tokens, sums.dims(), {0});
}

Tensor first_state(Tensor sequence) {
  return reshape(slice_axis(sequence, 1, 0, 1), {sequence.dim(0), sequence.dim(2)});
}

std::vector<StackSizes> encoder_stack(const BertConfig& model) {
  return {{.what = "encoder",
           .layers = model.num_hidden_layers,
           .width = model.hidden_size,
           .heads = model.num_attention_heads}};
}

}  // namespace smelt::model
