// DeBERTa as an encoder family. Its heads are those of transformers' DebertaV2For… classes.
#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/nearest_name.h"
#include "compiler/ops/ops.h"
#include "io/formats/config.h"
#include "model/models/deberta.h"
#include "model/nn/layers.h"

namespace smelt::model {

using compiler::reshape;
using compiler::slice_axis;
using compiler::Tensor;
namespace {

class DebertaEncoder final : public EncoderModel {
 public:
  explicit DebertaEncoder(DebertaConfig config) : config_(std::move(config)) {}

  std::string_view family() const override { return "deberta"; }
  Json config() const override { return io::config_json(config_); }
  bool has_pooler() const override { return false; }
  BertConfig sizes() const override { return deberta_sizes(config_); }
  DimNames dim_names(std::string_view parameter) const override {
    return deberta_dim_names(config_, parameter);
  }

  Tensor sequence(const Scope& root, const EncoderInputs& in) const override {
    return deberta_sequence(root / "deberta", config_, in);
  }
  LmHead word_head(const Scope& root, Tensor sequence, Tensor positions) const override {
    return deberta_word_head(root / "lm_head", config_, sequence, positions,
                             root.shared("deberta/embeddings/word_embeddings"));
  }
  Tensor class_logits(const Scope& root, const EncoderInputs& in, std::int64_t C,
                      double rate) const override;
  Tensor token_head(const Scope& root, Tensor tokens, std::int64_t C) const override {
    return dense(root / "classifier", tokens, C, start());
  }
  Tensor answer_head(const Scope& root, Tensor tokens) const override {
    return dense(root / "qa_outputs", tokens, 2, start());
  }

 private:
  Init start() const { return encoder_weights(sizes()); }

  DebertaConfig config_;
};

// See ContextPooler and DebertaV2ForSequenceClassification of transformers.
Tensor DebertaEncoder::class_logits(const Scope& root, const EncoderInputs& in, std::int64_t C,
                                    double rate) const {
  const auto B = in.input_ids.dim(0), H = config_.hidden_size;
  const Scope s = root / "classifier";
  const Tensor first = reshape(slice_axis(sequence(root, in), 1, 0, 1), {B, H});
  const Tensor inner =
      dense(s / "dense", dropout(s / "input", first, config_.pooler_dropout), H, start());
  const Tensor hidden = activation(config_.pooler_hidden_act, inner, Gelu::erf);
  return dense(s / "out_proj", in_f32(dropout(s / "hidden", hidden, rate)), C, start());
}

void check_names(const DebertaConfig& c, const std::string& where) {
  if (std::ranges::find(activation_names(), c.pooler_hidden_act) == activation_names().end())
    throw UsageError(str(where, ": pooler_hidden_act is '", c.pooler_hidden_act, "'"),
                     did_you_mean(c.pooler_hidden_act, activation_names()));
  if (c.norm_rel_ebd != "layer_norm" && c.norm_rel_ebd != "none")
    throw UsageError(
        str(where, ": norm_rel_ebd is '", c.norm_rel_ebd, "', must be layer_norm or none"),
        "released models have layer_norm");
  constexpr std::array kKinds{"p2c|c2p", "c2p|p2c", "c2p", "p2c"};
  if (std::ranges::find(kKinds, c.pos_att_type) == kKinds.end())
    throw UsageError(
        str(where, ": pos_att_type is '", c.pos_att_type, "', must be p2c|c2p, c2p or p2c"),
        "released models have p2c|c2p");
}

void check_values(const DebertaConfig& c, const std::string& where) {
  if (!(c.layer_norm_eps > 0))
    throw UsageError(str(where, ": layer_norm_eps is ", c.layer_norm_eps, ", must be above 0"),
                     "1e-7 is usual");
  if (!(c.pooler_dropout >= 0 && c.pooler_dropout < 1))
    throw UsageError(str(where, ": pooler_dropout is ", c.pooler_dropout, ", must be in [0, 1)"),
                     "0 is usual");
  if (c.embedding_size < 0)
    throw UsageError(str(where, ": embedding_size is ", c.embedding_size, ", must be at least 0"),
                     "0 makes the embeddings as wide as the encoder");
  const std::int64_t largest = largest_distance(c);
  if (c.position_buckets >= 1 && (c.position_buckets < 4 || largest <= c.position_buckets / 2 + 1))
    throw UsageError(
        str(where, ": position_buckets is ", c.position_buckets,
            ", must be at least 4 and below 2 * (the largest distance ", largest, " - 1)"),
        "released models have 256 buckets for distances up to 512; 0 gives each distance a row");
}

Encoder parse_deberta_encoder(const Json& config, const std::string& where) {
  return deberta_encoder(io::parse_config<DebertaConfig>(config, where), where);
}

}  // namespace

Encoder deberta_encoder(DebertaConfig c, const std::string& where) {
  check_bert_config(deberta_sizes(c), where);
  check_names(c, where);
  check_values(c, where);
  return std::make_shared<const DebertaEncoder>(std::move(c));
}

EncoderFamily deberta_encoder_family() {
  return {.name = "deberta", .parse = parse_deberta_encoder};
}

}  // namespace smelt::model
