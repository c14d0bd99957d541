// Predictions of a trained ELECTRA model.
#include "base/error.h"
#include "compiler/ops/ops.h"
#include "model/nn/layers.h"
#include "model/tasks/electra_task.h"
#include "model/tasks/token_features.h"

namespace smelt {

Prediction electra_mask_guesses(const ElectraTask& c, std::int64_t S, std::int64_t P,
                                std::int64_t top, const std::string& where) {
  if (c.settings.uniform_generator)
    throw UsageError(str(where, ": the uniform generator cannot fill masks"),
                     "use a model with a trained generator");
  Prediction out;
  out.features = token_features(discriminator_config(c.model), S);
  out.features.push_back(masked_positions_feature(S, P));
  out.outputs = [c, top](const Scope& root, const Inputs& in) {
    const EncoderInputs tokens = encoder_inputs(in);
    const Tensor positions = in["masked_lm_positions"];
    const MaskedInputs masked{.inputs = tokens,
                              .masked_ids = tokens.input_ids,
                              .masks = {.positions = positions,
                                        .ids = zeros_like(positions),
                                        .weights = ones_like(convert(positions, DType::f32))}};
    return top_k(softmax(electra_generated(root, c, masked).logits), top);
  };
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

}  // namespace smelt
