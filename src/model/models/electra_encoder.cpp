// ELECTRA's discriminator as an encoder family. Its classification heads follow
// ElectraForSequenceClassification, …ForTokenClassification and …ForQuestionAnswering of
// transformers.
#include "base/error.h"
#include "compiler/ops/ops.h"
#include "io/formats/config.h"
#include "model/models/classifier.h"
#include "model/models/electra.h"
#include "model/nn/layers.h"

namespace smelt::model {

using compiler::Tensor;
namespace {

class ElectraEncoder final : public EncoderModel {
 public:
  explicit ElectraEncoder(ElectraConfig config) : config_(std::move(config)) {}

  std::string_view family() const override { return "electra"; }
  BertConfig sizes() const override { return discriminator_config(config_); }
  Json config() const override { return io::config_json(config_); }
  DimNames dim_names(std::string_view parameter) const override {
    return electra_dim_names(config_, parameter);
  }
  bool has_pooler() const override { return false; }

  Tensor sequence(const Scope& root, const EncoderInputs& in) const override {
    return electra(root, config_, in).sequence;
  }
  Tensor class_logits(const Scope& root, const EncoderInputs& in, std::int64_t C,
                      double rate) const override {
    const Scope s = root / "classifier";
    const Tensor first = dropout(s / "input", electra(root, config_, in).pooled, rate);
    const Tensor inner = dense(s / "dense", first, sizes().hidden_size, weights());
    const Tensor hidden = activation("gelu", inner, Gelu::erf);
    return dense(s / "out_proj", in_f32(dropout(s / "hidden", hidden, rate)), C, weights());
  }
  Tensor token_head(const Scope& root, Tensor tokens, std::int64_t C) const override {
    return dense(root / "classifier", tokens, C, weights());
  }
  Tensor answer_head(const Scope& root, Tensor tokens) const override {
    return dense(root / "qa_outputs", tokens, 2, weights());
  }

 private:
  Init weights() const { return encoder_weights(sizes()); }

  ElectraConfig config_;
};

Encoder parse_electra_encoder(const Json& config, const std::string& where) {
  auto electra = io::parse_config<ElectraConfig>(config, where);
  check_electra_config(electra, [&](const std::string&) { return where; });
  return std::make_shared<ElectraEncoder>(std::move(electra));
}

}  // namespace

EncoderFamily electra_encoder_family() {
  return {.name = "electra", .parse = parse_electra_encoder};
}

}  // namespace smelt::model
