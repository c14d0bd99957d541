// RoBERTa as an encoder family: BERT's layers with erf gelu, positions that start after the padding
// id, and no segments. Parameters have the names of transformers' TFRoberta classes.
#include "base/error.h"
#include "compiler/ops/ops.h"
#include "io/formats/config.h"
#include "model/models/roberta_config.h"
#include "model/nn/layers.h"

namespace smelt::model {

using compiler::reshape;
using compiler::slice_axis;
using compiler::Tensor;
namespace {

class RobertaEncoder final : public EncoderModel {
 public:
  explicit RobertaEncoder(RobertaConfig config) : config_(std::move(config)) {}

  std::string_view family() const override { return "roberta"; }
  Json config() const override { return io::config_json(config_); }
  bool has_pooler() const override { return false; }
  BertConfig sizes() const override;

  DimNames dim_names(std::string_view parameter) const override {
    if (parameter == "lm_head/dense/kernel") return {"embed", ""};
    if (parameter == "lm_head/output_bias") return {"vocab"};
    return encoder_dim_names(sizes(), parameter);
  }

  Tensor sequence(const Scope& root, const EncoderInputs& in) const override {
    const BertConfig c = sizes();
    const Scope s = root / "roberta";
    return on_packed_rows(s, in, [&](const Scope& inner, const EncoderInputs& own) {
      const Tensor embedded = embed_tokens(inner / "embeddings", c, c.hidden_size, own);
      return encode(inner / "encoder", c, embedded, attention_mask(own), own.states);
    });
  }
  LmHead word_head(const Scope& root, Tensor sequence, Tensor positions) const override;
  Tensor class_logits(const Scope& root, const EncoderInputs& in, std::int64_t C,
                      double rate) const override;
  Tensor token_head(const Scope& root, Tensor tokens, std::int64_t C) const override {
    return dense(root / "classifier", tokens, C, weights());
  }
  Tensor answer_head(const Scope& root, Tensor tokens) const override {
    return dense(root / "qa_outputs", tokens, 2, weights());
  }

 private:
  Init weights() const { return encoder_weights(sizes()); }

  RobertaConfig config_;
};

BertConfig RobertaEncoder::sizes() const {
  const RobertaConfig& c = config_;
  const std::int64_t offset = c.pad_token_id + 1;
  return {.vocab_size = c.vocab_size,
          .hidden_size = c.hidden_size,
          .num_hidden_layers = c.num_hidden_layers,
          .num_attention_heads = c.num_attention_heads,
          .attention_head_size = c.attention_head_size,
          .intermediate_size = c.intermediate_size,
          .hidden_act = c.hidden_act,
          .hidden_dropout_prob = c.hidden_dropout_prob,
          .attention_probs_dropout_prob = c.attention_probs_dropout_prob,
          .max_position_embeddings = c.max_position_embeddings - offset,
          .type_vocab_size = c.type_vocab_size,
          .initializer_range = c.initializer_range,
          .gelu = Gelu::erf,
          .layer_norm_eps = c.layer_norm_eps,
          .position_offset = offset,
          .reads_segments = false};
}

LmHead RobertaEncoder::word_head(const Scope& root, Tensor sequence, Tensor positions) const {
  const BertConfig c = sizes();
  const auto B = positions.dim(0), P = positions.dim(1), H = c.hidden_size;
  const Scope s = root / "lm_head";
  const Tensor picked = reshape(gather_positions(sequence, positions), {B * P, H});
  // Always gelu, whatever hidden_act is, as in transformers' RobertaLMHead.
  const Tensor hidden = activation("gelu", dense(s / "dense", picked, H, weights()), c.gelu);
  const Tensor normed = layer_norm(s / "LayerNorm", hidden, c.layer_norm_eps);
  return tied_word_head(s, normed, root.shared("roberta/embeddings/word_embeddings"));
}

Tensor RobertaEncoder::class_logits(const Scope& root, const EncoderInputs& in, std::int64_t C,
                                    double rate) const {
  const auto B = in.input_ids.dim(0), H = config_.hidden_size;
  const Scope s = root / "classifier";
  const Tensor first = reshape(slice_axis(sequence(root, in), 1, 0, 1), {B, H});
  const Tensor inner = dense(s / "dense", dropout(s / "input", first, rate), H, weights());
  const Tensor hidden = dropout(s / "hidden", activation("tanh", inner), rate);
  return dense(s / "out_proj", in_f32(hidden), C, weights());
}

Encoder parse_roberta_encoder(const Json& config, const std::string& where) {
  return roberta_encoder(io::parse_config<RobertaConfig>(config, where), where);
}

}  // namespace

Encoder roberta_encoder(RobertaConfig c, const std::string& where) {
  if (c.pad_token_id < 0 || c.pad_token_id + 1 >= c.max_position_embeddings)
    throw UsageError(str(where, ": max_position_embeddings is ", c.max_position_embeddings,
                         ", must be above pad_token_id + 1 = ", c.pad_token_id + 1),
                     "roberta-base has max_position_embeddings 514 and pad_token_id 1");
  if (!(c.layer_norm_eps > 0))
    throw UsageError(str(where, ": layer_norm_eps is ", c.layer_norm_eps, ", must be above 0"),
                     "1e-5 is usual");
  auto encoder = std::make_shared<const RobertaEncoder>(std::move(c));
  check_bert_config(encoder->sizes(), where);
  return encoder;
}

EncoderFamily roberta_encoder_family() {
  return {.name = "roberta", .parse = parse_roberta_encoder};
}

}  // namespace smelt::model
