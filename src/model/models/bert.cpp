#include "model/models/bert.h"

#include "compiler/ops/ops.h"
#include "model/nn/einsum.h"
#include "model/nn/layers.h"

namespace smelt::model {

using compiler::reshape;
using compiler::slice_axis;
using compiler::Tensor;

DimNames bert_dim_names(const BertConfig& c, std::string_view parameter) {
  if (parameter.ends_with("/pooler/dense/kernel")) return {"embed", ""};
  if (parameter.ends_with("/transform/dense/kernel")) return {"embed", ""};
  if (parameter.ends_with("/predictions/output_bias")) return {"vocab"};
  return encoder_dim_names(c, parameter);
}

Tensor bert_sequence(const Scope& root, const BertConfig& c, const EncoderInputs& in) {
  const Scope s = root / "bert";
  return on_packed_rows(s, in, [&](const Scope& inner, const EncoderInputs& own) {
    const Tensor embedded = embed_tokens(inner / "embeddings", c, c.hidden_size, own);
    return encode(inner / "encoder", c, embedded, attention_mask(own), own.states);
  });
}

BertEncoded bert(const Scope& root, const BertConfig& c, const EncoderInputs& in) {
  const Scope s = root / "bert";
  const auto B = in.input_ids.dim(0), H = c.hidden_size;
  const Tensor x = bert_sequence(root, c, in);
  const Tensor first = reshape(slice_axis(x, 1, 0, 1), {B, H});
  const Tensor pooled = dense(s / "pooler" / "dense", first, H, encoder_weights(c));
  return {.sequence = x, .pooled = activation("tanh", pooled)};
}

LmHead masked_lm_head(const Scope& root, const BertConfig& c, Tensor sequence, Tensor positions) {
  const auto B = positions.dim(0), P = positions.dim(1), H = c.hidden_size;
  const Scope s = root / "cls" / "predictions";
  const Tensor picked =
      reshape(gather_positions(sequence, positions).expect({B, P, H}), {B * P, H});
  const Tensor transformed =
      activation(c.hidden_act, dense(s / "transform" / "dense", picked, H, encoder_weights(c)));
  const Tensor x = layer_norm(s / "transform" / "LayerNorm", transformed, kLayerNormEpsilon);
  return tied_word_head(s, x, root.shared("bert/embeddings/word_embeddings"));
}

Tensor next_sentence_logits(const Scope& root, const BertConfig& c, Tensor pooled) {
  const Scope s = root / "cls" / "seq_relationship";
  const Tensor kernel = s.parameter("output_weights", {2, c.hidden_size}, encoder_weights(c));
  return einsum("bh,ch->bc", in_f32(pooled), kernel) + s.parameter("output_bias", {2}, {});
}

}  // namespace smelt::model
