#include "model/models/electra.h"

#include "compiler/ops/ops.h"
#include "model/nn/layers.h"

namespace smelt::model {

using compiler::Compare;
using compiler::compare;
using compiler::concatenate;
using compiler::convert;
using compiler::DType;
using compiler::iota;
using compiler::reshape;
using compiler::slice_axis;
using compiler::Tensor;
namespace {

// The tokens that a position of a causal tower attends to, in addition to itself.
enum class Sees { before, after };
// Returns an attention mask that also excludes later (or earlier) keys.
AttentionMask causal_mask(Tensor input_mask, Sees sees) {
  const auto B = input_mask.dim(0), S = input_mask.dim(1);
  const Tensor query = iota(input_mask.graph(), {DType::s32, {S, S}}, 0);
  const Tensor key = iota(input_mask.graph(), {DType::s32, {S, S}}, 1);
  const Tensor seen = compare(key, query, sees == Sees::before ? Compare::le : Compare::ge);
  const Tensor band = reshape(convert(seen, DType::s32), {1, S, S});
  return {.biases = {attention_mask(reshape(input_mask, {B, 1, S}) * band)}};
}

// Embeds the tokens with the tables in the scope `embeddings`, projects them to the hidden size if
// it differs, and applies the encoder layers in the scope `s`. The encoder is a causal tower if
// `sees` is set; towers are never packed (electra_task()).
Tensor encode_tokens(const Scope& s, const Scope& embeddings, const BertConfig& c, std::int64_t E,
                     const EncoderInputs& inputs, std::optional<Sees> sees = {}) {
  return on_packed_rows(s, inputs, [&](const Scope& inner, const EncoderInputs& in) {
    const auto& random = inner.random_source();
    const Scope tables = embeddings.with_tokens(random ? random->tokens : std::nullopt);
    Tensor x = embed_tokens(tables, c, E, in);
    const auto H = c.hidden_size;
    if (E != H) x = dense(inner / "embeddings_project", x, H, glorot_uniform(E, H));
    const AttentionMask mask = sees ? causal_mask(in.input_mask, *sees) : attention_mask(in);
    return encode(inner / "encoder", c, x, mask, in.states);
  });
}

// Rotates the rows of x [B,S,H] by `by` positions.
Tensor roll(Tensor x, std::int64_t by) {
  const auto S = x.dim(1), cut = (S - by) % S;
  return concatenate({slice_axis(x, 1, cut, S), slice_axis(x, 1, 0, cut)}, 1);
}

ElectraEncoded encoded(Tensor sequence, Tensor words) {
  const auto B = sequence.dim(0), H = sequence.dim(2);
  return {.sequence = sequence,
          .pooled = reshape(slice_axis(sequence, 1, 0, 1), {B, H}),
          .words = words};
}

// Returns the width of the generator's embeddings: its hidden size if it has separate embeddings,
// otherwise the width of the discriminator's embeddings.
std::int64_t generator_embedding_size(const ElectraConfig& c) {
  return c.untied_generator_embeddings ? generator_config(c).hidden_size
                                       : electra_embedding_size(c);
}

}  // namespace

DimNames electra_dim_names(const ElectraConfig& c, std::string_view parameter) {
  if (parameter.ends_with("/embeddings_project/kernel")) return {"", "embed"};
  if (parameter.ends_with("_predictions/dense/kernel")) return {"embed", ""};
  if (parameter.ends_with("_predictions/output_bias")) return {"vocab"};
  const bool of_generator = parameter.starts_with("generator");
  return encoder_dim_names(of_generator ? generator_config(c) : discriminator_config(c), parameter);
}

ElectraEncoded electra(const Scope& root, const ElectraConfig& c, const EncoderInputs& in,
                       Shared shared) {
  const Scope again = root.again("discriminator");
  const Scope s = (shared == Shared::all ? again : root) / "electra";
  const Scope embeddings = (shared == Shared::nothing ? root : again) / "electra" / "embeddings";
  const Tensor x =
      encode_tokens(s, embeddings, discriminator_config(c), electra_embedding_size(c), in);
  return encoded(x, root.shared("electra/embeddings/word_embeddings"));
}

ElectraEncoded electra_generator(const Scope& root, const ElectraConfig& c,
                                 const EncoderInputs& in) {
  if (!c.untied_generator) return electra(root, c, in);
  const Scope s = root / "generator";
  const Scope embeddings = (c.untied_generator_embeddings ? s : root / "electra") / "embeddings";
  const Tensor x =
      encode_tokens(s, embeddings, generator_config(c), generator_embedding_size(c), in);
  return encoded(x, root.shared(embeddings.path() + "/word_embeddings"));
}

ElectraEncoded electra_two_towers(const Scope& root, const ElectraConfig& c,
                                  const EncoderInputs& in) {
  const auto tower = [&](std::string_view name, const Scope& shared, Sees sees) {
    const Scope s = root / name;
    const Scope embeddings = c.untied_generator_embeddings ? s : shared / "electra";
    return encode_tokens(s, embeddings / "embeddings", generator_config(c),
                         generator_embedding_size(c), in, sees);
  };
  const Tensor ltr = tower("generator_ltr", root, Sees::before);
  const Tensor rtl = tower("generator_rtl", root.again("generator_rtl"), Sees::after);
  const std::string owner = c.untied_generator_embeddings ? "generator_ltr" : "electra";
  return encoded(concatenate({roll(ltr, 1), roll(rtl, -1)}, 2),
                 root.shared(owner + "/embeddings/word_embeddings"));
}

LmHead electra_word_head(const Scope& s, const ElectraConfig& c, Tensor rows, Tensor words) {
  const BertConfig model = discriminator_config(c);
  const Tensor hidden = activation(
      c.hidden_act, dense(s / "dense", rows, words.dim(1), encoder_weights(model)), model.gelu);
  return tied_word_head(s, layer_norm(s / "LayerNorm", hidden, kLayerNormEpsilon), words);
}

Tensor electra_replaced_logits(const Scope& root, const ElectraConfig& c, Tensor sequence) {
  const Scope s = root / "discriminator_predictions";
  const BertConfig model = discriminator_config(c);
  const auto B = sequence.dim(0), S = sequence.dim(1), H = model.hidden_size;
  const Tensor hidden =
      activation(c.hidden_act, dense(s / "dense", sequence, H, encoder_weights(model)), model.gelu);
  return reshape(dense(s / "dense_1", in_f32(hidden), 1, glorot_uniform(H, 1)), {B, S});
}

}  // namespace smelt::model
