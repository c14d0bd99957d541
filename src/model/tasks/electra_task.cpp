#include "model/tasks/electra_task.h"

#include "base/error.h"
#include "compiler/ops/ops.h"
#include "io/formats/config.h"
#include "model/models/electra.h"
#include "model/nn/layers.h"
#include "model/tasks/token_features.h"

namespace smelt::model {

using compiler::Tensor;
namespace {

void fail(const std::string& what, const std::string& hint) {
  throw UsageError("electra: " + what, hint);
}

void check_lengths(const ElectraTask& c) {
  check_positions("electra", discriminator_config(c.model), c.seq_length);
  const double p = c.settings.mask_prob;
  if (!(p > 0 && p < 1))
    fail(str("mask_prob is ", p, ", must be above 0 and below 1"), "0.15 is usual");
  const std::int64_t N = c.masking().most;
  if (N < 1 || N > c.seq_length)
    fail(str("mask_prob ", p, " of ", c.seq_length, " tokens gives ", N, " masks"),
         "choose a mask_prob that masks at least one token and at most all");
  for (const std::int32_t id : {c.ids.cls, c.ids.sep, c.ids.mask})
    if (id < 0 || id >= c.model.vocab_size)
      fail(str("id ", id, " of [CLS], [SEP] or [MASK] must be below vocab_size ",
               c.model.vocab_size),
           "set vocab_size to the number of lines of the vocabulary of the data");
}

void check_generator(const ElectraTask& c) {
  const ElectraSettings& s = c.settings;
  if (!(s.temperature > 0))
    fail(str("temperature is ", s.temperature, ", must be above 0"), "1 is usual");
  if (!(s.gen_weight >= 0 && s.disc_weight >= 0))
    fail(
        str("gen_weight ", s.gen_weight, " and disc_weight ", s.disc_weight, " must be at least 0"),
        "1 and 50 are usual");
  if (s.uniform_generator && c.has_two_towers())
    fail("uniform_generator cannot be combined with two towers",
         "remove uniform_generator, or two_tower_generator and electric_objective");
  if (c.has_two_towers() && !c.model.untied_generator)
    fail("two towers require untied_generator", "set untied_generator");
  if (!c.has_discriminator() && (s.uniform_generator || s.two_tower_generator))
    fail("uniform_generator and two_tower_generator require a discriminator",
         "remove them, or set electra_objective");
}

Json settings(const ElectraTask& c) {
  return {{"model", io::config_json(c.model)},
          {"objective", io::config_json(c.settings)},
          {"seq_length", c.seq_length},
          {"special_ids", {c.ids.cls, c.ids.sep, c.ids.mask}}};
}

}  // namespace

Objective with_drawn_masks(
    const Scope& root, const MaskingRule& rule, const Inputs& in,
    const std::function<Objective(const MaskedInputs& masked, const Sampler& sample)>& of) {
  const Scope draws = root / "masking";
  MaskedInputs masked{.inputs = encoder_inputs(in), .masked_ids = {}, .masks = {}};
  const EncoderInputs& tokens = masked.inputs;
  masked.masks = draw_masks(draws, rule, tokens.input_ids, tokens.input_mask);
  masked.masked_ids = put_masks(draws, rule, tokens.input_ids, masked.masks);
  return of(masked, [&](Tensor logits) { return sample_ids(draws, logits); });
}

MaskingRule ElectraTask::masking() const {
  const double p = settings.mask_prob;
  return {.probability = p,
          .most = static_cast<std::int64_t>((p + 0.005) * static_cast<double>(seq_length)),
          .mask_id = ids.mask,
          .kept_ids = {ids.cls, ids.sep, ids.mask},
          .draws = settings.masks};
}

Task electra_task(const ElectraTask& c) {
  check_electra_config(c.model, [](const std::string&) { return std::string("electra"); });
  check_lengths(c);
  check_generator(c);
  Task task;
  task.name = "electra";
  task.settings = settings(c);
  task.described = {{"seq_length", c.seq_length}};
  task.record_kind = "electra";
  // BERT examples contain all features of ELECTRA but are already masked; this feature identifies
  // them, so that they are rejected.
  task.foreign = {{.name = "masked_lm_positions", .kind = "bert"}};
  task.features = token_features(discriminator_config(c.model), c.seq_length);
  task.tokens = "input_mask";
  // Two towers also read the padding behind a sequence.
  task.can_be_packed = !c.has_two_towers();
  task.row_weights = {"input_mask"};
  task.draws = true;
  task.dim_names = [model = c.model](std::string_view parameter) {
    return electra_dim_names(model, parameter);
  };
  task.objective = [c](const Scope& root, const Inputs& in) {
    return with_drawn_masks(root, c.masking(), in,
                            [&](const MaskedInputs& masked, const Sampler& sample) {
                              return electra_objective(root, c, masked, sample);
                            });
  };
  return task;
}

}  // namespace smelt::model
