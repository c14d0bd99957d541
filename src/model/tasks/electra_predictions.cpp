// Predictions of a trained ELECTRA model.
#include "base/error.h"
#include "compiler/ops/ops.h"
#include "model/nn/layers.h"
#include "model/tasks/electra_task.h"
#include "model/tasks/token_features.h"

namespace smelt::model {

using compiler::convert;
using compiler::DType;
using compiler::logistic;
using compiler::ones_like;
using compiler::reshape;
using compiler::slice_axis;
using compiler::Tensor;
using compiler::top_k;
using compiler::zeros_like;

namespace {

// Returns a prediction with the generator's features, whose outputs are the results of `words` on
// the generator's logits f32 [B*P,V]. Throws UsageError that begins with `where` for a uniform
// generator.
template <class Words>
Prediction of_generator(const ElectraTask& c, std::int64_t S, std::int64_t P,
                        const std::string& where, Words words) {
  if (c.settings.uniform_generator)
    throw UsageError(str(where, ": the uniform generator cannot fill masks"),
                     "use a model with a trained generator");
  Prediction out;
  out.features = token_features(discriminator_config(c.model), S);
  out.features.push_back(masked_positions_feature(S, P));
  out.outputs = [c, words](const Scope& root, const Inputs& in) -> std::vector<Tensor> {
    const EncoderInputs tokens = encoder_inputs(in);
    const Tensor positions = in["masked_lm_positions"];
    const MaskedInputs masked{.inputs = tokens,
                              .masked_ids = tokens.input_ids,
                              .masks = {.positions = positions,
                                        .ids = zeros_like(positions),
                                        .weights = ones_like(convert(positions, DType::f32))}};
    return words(electra_generated(root, c, masked).logits, in);
  };
  return out;
}

}  // namespace

Prediction electra_mask_guesses(const ElectraTask& c, std::int64_t S, std::int64_t P,
                                std::int64_t top, const std::string& where) {
  return of_generator(c, S, P, where,
                      [top](Tensor logits, const Inputs&) { return top_k(softmax(logits), top); });
}

Prediction electra_word_scores(const ElectraTask& c, std::int64_t S, std::int64_t P,
                               const std::string& where) {
  Prediction out = of_generator(c, S, P, where, [](Tensor logits, const Inputs& in) {
    const Tensor ids = in["masked_lm_ids"];
    return std::vector{
        reshape(-cross_entropy(logits, reshape(ids, {ids.shape().elements()})), ids.dims())};
  });
  out.features.push_back(masked_ids_feature(c.model.vocab_size, P));
  return out;
}

Prediction electra_replaced(const ElectraTask& c, std::int64_t S, const std::string& where) {
  if (!c.has_discriminator())
    throw UsageError(str(where, ": a masked LM has no discriminator"),
                     "use a model trained with electra_objective or electric_objective");
  Prediction out;
  out.features = token_features(discriminator_config(c.model), S);
  out.outputs = [c, S](const Scope& root, const Inputs& in) {
    const EncoderInputs tokens = encoder_inputs(in);
    Generated generated;
    if (c.settings.electric_objective) {
      const Tensor no_positions = slice_axis(zeros_like(tokens.input_ids), 1, 0, 1);
      generated =
          electra_generated(root, c,
                            {.inputs = tokens,
                             .masked_ids = tokens.input_ids,
                             .masks = {.positions = no_positions,
                                       .ids = no_positions,
                                       .weights = ones_like(convert(no_positions, DType::f32))}});
    }
    const Tensor logits = electra_found_logits(root, c, tokens, generated);
    return std::vector<Tensor>{logistic(reshape(logits, {tokens.input_ids.dim(0), S}))};
  };
  return out;
}

}  // namespace smelt::model
