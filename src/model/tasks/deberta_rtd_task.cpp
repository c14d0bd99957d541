#include "model/tasks/deberta_rtd_task.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "compiler/ops/ops.h"
#include "io/formats/config.h"
#include "model/models/deberta.h"
#include "model/tasks/token_features.h"

namespace smelt::model {

using compiler::logistic;
using compiler::reshape;
using compiler::stop_gradient;
using compiler::Tensor;
namespace {

constexpr const char* kReplacedHead = "mask_predictions";

// Returns the settings in the form of ELECTRA's task.
ElectraTask electra_form(const DebertaRtdTask& c) {
  ElectraTask out;
  out.model.vocab_size = c.model.vocab_size;
  out.settings.gen_weight = c.settings.gen_weight;
  out.settings.disc_weight = c.settings.disc_weight;
  out.settings.mask_prob = c.settings.mask_prob;
  out.settings.temperature = c.settings.temperature;
  out.seq_length = c.seq_length;
  out.ids = c.ids;
  out.majority_token = c.majority_token;
  return out;
}

// Applies the generator and its masked-LM head at the masked positions.
Generated generated_words(const Scope& root, const DebertaRtdTask& c, const MaskedInputs& in) {
  const DebertaConfig config = deberta_generator(c);
  const Scope s = root / kDebertaGenerator;
  EncoderInputs masked = in.inputs;
  masked.input_ids = in.masked_ids;
  const Tensor sequence = deberta_sequence(s, config, masked);
  const Tensor words = root.shared(kGeneratorWords);
  Generated out;
  out.logits =
      lm_logits(deberta_word_head(s / "lm_head", config, sequence, in.masks.positions, words));
  return out;
}

// Applies the discriminator with gradient-disentangled embeddings.
Tensor found_logits(const Scope& root, const DebertaRtdTask& c, const EncoderInputs& tokens) {
  const Tensor shared = root.shared(kGeneratorWords);
  const Tensor delta = root.parameter(kWordsDelta, shared.dims(), Init());
  const Tensor sequence =
      deberta_sequence(root / "deberta", c.model, tokens, stop_gradient(shared) + delta);
  const Tensor logits = deberta_replaced_logits(root / kReplacedHead, c.model, sequence);
  return reshape(logits, {logits.shape().elements()});
}

void check_rtd(const DebertaRtdTask& c) {
  const auto fail = [](const std::string& what, const std::string& hint) {
    throw UsageError("deberta_rtd: " + what, hint);
  };
  const DebertaRtdSettings& s = c.settings;
  check_positions("deberta_rtd", deberta_sizes(c.model), c.seq_length);
  if (!(s.mask_prob > 0 && s.mask_prob < 1))
    fail(str("mask_prob is ", s.mask_prob, ", must be above 0 and below 1"), "0.15 is usual");
  if (const std::int64_t N = electra_form(c).masking().most; N < 1)
    fail(str("mask_prob ", s.mask_prob, " of ", c.seq_length, " tokens masks none of them"),
         "0.15 is usual");
  if (!(s.temperature > 0))
    fail(str("temperature is ", s.temperature, ", must be above 0"), "1 is usual");
  if (!(s.gen_weight >= 0 && s.disc_weight >= 0))
    fail(
        str("gen_weight ", s.gen_weight, " and disc_weight ", s.disc_weight, " must be at least 0"),
        "1 and 50 are usual");
  if (!(s.generator_layers > 0 && s.generator_layers <= 1))
    fail(str("generator_layers is ", s.generator_layers, ", must be above 0 and at most 1"),
         "0.5 is usual");
}

}  // namespace

DebertaConfig deberta_generator(const DebertaRtdTask& c) {
  DebertaConfig out = c.model;
  const double layers = c.settings.generator_layers * static_cast<double>(out.num_hidden_layers);
  out.num_hidden_layers = std::max<std::int64_t>(std::llround(layers), 1);
  return out;
}

Objective deberta_rtd_objective(const Scope& root, const DebertaRtdTask& c, const MaskedInputs& in,
                                const Sampler& sample) {
  const ReplacementModels models{
      .generated = [&c](const Scope& s,
                        const MaskedInputs& masked) { return generated_words(s, c, masked); },
      .found = [&c](const Scope& s, const EncoderInputs& tokens,
                    const Generated&) { return found_logits(s, c, tokens); }};
  return replacement_objective(root, electra_form(c), models, in, sample);
}

Task deberta_rtd_task(const DebertaRtdTask& c) {
  (void)deberta_encoder(c.model, "deberta_rtd");
  check_rtd(c);
  Task task;
  task.name = "deberta_rtd";
  task.settings = {{"encoder", "deberta"},
                   {"model", io::config_json(c.model)},
                   {"objective", io::config_json(c.settings)},
                   {"seq_length", c.seq_length},
                   {"special_ids", {c.ids.cls, c.ids.sep, c.ids.mask}}};
  task.described = {{"seq_length", c.seq_length}};
  task.record_kind = "electra";
  task.foreign = {{.name = "masked_lm_positions", .kind = "bert"}};
  task.features = token_features(deberta_sizes(c.model), c.seq_length);
  task.tokens = "input_mask";
  task.can_be_packed = true;
  task.row_weights = {"input_mask"};
  task.draws = true;
  task.dim_names = [model = c.model](std::string_view parameter) {
    return deberta_dim_names(model, parameter);
  };
  task.objective = [c](const Scope& root, const Inputs& inputs) {
    return with_drawn_masks(root, electra_form(c).masking(), inputs,
                            [&](const MaskedInputs& in, const Sampler& sample) {
                              return deberta_rtd_objective(root, c, in, sample);
                            });
  };
  return task;
}

Prediction deberta_replaced(const Encoder& encoder, std::int64_t S) {
  Prediction out;
  out.features = token_features(encoder_sizes(encoder), S);
  const auto config = io::parse_config<DebertaConfig>(encoder_config_json(encoder), "deberta");
  out.outputs = [encoder, config](const Scope& root, const Inputs& in) {
    const Tensor sequence = encoder->sequence(root, encoder_inputs(in));
    return std::vector<Tensor>{
        logistic(deberta_replaced_logits(root / kReplacedHead, config, sequence))};
  };
  return out;
}

}  // namespace smelt::model
