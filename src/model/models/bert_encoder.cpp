// BERT as an encoder family. Its classification heads follow run_classifier.py and run_squad.py of
// google-research/bert, with the names of the original checkpoints.
#include "base/error.h"
#include "compiler/ops/ops.h"
#include "io/formats/config.h"
#include "model/models/bert.h"
#include "model/models/classifier.h"
#include "model/nn/einsum.h"
#include "model/nn/layers.h"

namespace smelt::model {

using compiler::Tensor;
namespace {

class BertEncoder final : public EncoderModel {
 public:
  explicit BertEncoder(BertConfig config) : config_(std::move(config)) {}

  std::string_view family() const override { return "bert"; }
  BertConfig sizes() const override { return config_; }
  Json config() const override { return io::config_json(config_); }
  DimNames dim_names(std::string_view parameter) const override {
    return bert_dim_names(config_, parameter);
  }
  bool has_pooler() const override { return true; }

  Tensor sequence(const Scope& root, const EncoderInputs& in) const override {
    return bert_sequence(root, config_, in);
  }
  LmHead word_head(const Scope& root, Tensor sequence, Tensor positions) const override {
    return masked_lm_head(root, config_, sequence, positions);
  }
  // The head's parameters are at the root, next to the encoder's.
  Tensor class_logits(const Scope& root, const EncoderInputs& in, std::int64_t C,
                      double rate) const override {
    const Tensor pooled = bert(root, config_, in).pooled;
    const Tensor kernel =
        root.parameter("output_weights", {C, config_.hidden_size}, encoder_weights(config_));
    const Tensor kept = dropout(root / "classifier", in_f32(pooled), rate);
    return einsum("bh,ch->bc", kept, kernel) + root.parameter("output_bias", {C}, {});
  }
  Tensor token_head(const Scope& root, Tensor tokens, std::int64_t C) const override {
    return head(root, tokens, C);
  }
  Tensor answer_head(const Scope& root, Tensor tokens) const override {
    return head(root / "cls" / "squad", tokens, 2);
  }

 private:
  // Applies a linear layer to the tokens and returns [B,S,C]. Declares output_weights and
  // output_bias in `s`.
  Tensor head(const Scope& s, const Tensor& tokens, std::int64_t C) const {
    const Tensor kernel =
        s.parameter("output_weights", {C, tokens.dim(2)}, encoder_weights(config_));
    return einsum("bsh,ch->bsc", tokens, kernel) + s.parameter("output_bias", {C}, {});
  }

  BertConfig config_;
};

Encoder parse_bert_encoder(const Json& config, const std::string& where) {
  auto bert = io::parse_config<BertConfig>(config, where);
  check_bert_config(bert, where);
  return bert_encoder(std::move(bert));
}

}  // namespace

Encoder bert_encoder(BertConfig config) { return std::make_shared<BertEncoder>(std::move(config)); }

EncoderFamily bert_encoder_family() { return {.name = "bert", .parse = parse_bert_encoder}; }

}  // namespace smelt::model
