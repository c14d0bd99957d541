#include "tasks/electra_task.h"

#include "base/error.h"
#include "format/config.h"
#include "models/electra.h"
#include "tasks/token_features.h"

namespace smelt {
namespace {

void refuse(const std::string& what, const std::string& hint) {
  throw UsageError("electra: " + what, hint);
}

void check_lengths(const ElectraTask& c) {
  check_positions("electra", discriminator_config(c.model), c.seq_length);
  if (!(c.mask_prob > 0 && c.mask_prob < 1))
    refuse(str("mask_prob is ", c.mask_prob, ", must be between 0 and 1"), "0.15 is usual");
  const std::int64_t N = c.max_predictions();
  if (N < 1 || N > c.seq_length)
    refuse(str("mask_prob ", c.mask_prob, " of ", c.seq_length, " tokens are ", N, " masks"),
           "choose a mask_prob that gives at least one and at most all tokens");
  for (const std::int32_t id : {c.ids.cls, c.ids.sep, c.ids.mask})
    if (id < 0 || id >= c.model.vocab_size)
      refuse(str("the id ", id, " of [CLS], [SEP] or [MASK] is none of ", c.model.vocab_size,
                 " words"),
             "set vocab_size to the lines of the vocabulary that the data were made with");
}

void check_generator(const ElectraTask& c) {
  if (c.temperature <= 0)
    refuse(str("temperature is ", c.temperature, ", must be above 0"), "1 is usual");
  if (c.gen_weight < 0 || c.disc_weight < 0)
    refuse(
        str("gen_weight ", c.gen_weight, " and disc_weight ", c.disc_weight, " must be at least 0"),
        "1 and 50 are usual");
  if (c.learns == ElectraLearns::noise && c.generator != Generator::two_towers)
    refuse("electric_objective without two_tower_generator", "set two_tower_generator");
  if (c.generator == Generator::two_towers && !c.model.untied_generator)
    refuse("two_tower_generator without untied_generator", "set untied_generator");
  if (c.learns == ElectraLearns::masked_tokens && c.generator != Generator::masked_lm)
    refuse("a masked LM has no generator beside itself",
           "leave uniform_generator and two_tower_generator out");
}

const char* name_of(ElectraLearns learns) {
  switch (learns) {
    case ElectraLearns::replaced_tokens:
      return "replaced_tokens";
    case ElectraLearns::noise:
      return "noise";
    case ElectraLearns::masked_tokens:
      return "masked_tokens";
  }
  throw BugError("no such objective");
}

const char* name_of(Generator generator) {
  switch (generator) {
    case Generator::masked_lm:
      return "masked_lm";
    case Generator::two_towers:
      return "two_towers";
    case Generator::uniform:
      return "uniform";
  }
  throw BugError("no such generator");
}

nlohmann::json settings(const ElectraTask& c) {
  return {{"model", config_json(c.model)},
          {"seq_length", c.seq_length},
          {"special_ids", {c.ids.cls, c.ids.sep, c.ids.mask}},
          {"learns", name_of(c.learns)},
          {"generator", name_of(c.generator)},
          {"mask_prob", c.mask_prob},
          {"gen_weight", c.gen_weight},
          {"disc_weight", c.disc_weight},
          {"temperature", c.temperature},
          {"disallow_correct", c.disallow_correct},
          {"masks", c.masks == Draws::original ? "original" : "distinct"}};
}

Objective objective(const ElectraTask& c, const Scope& root, const Inputs& in) {
  const MaskingRule rule = c.masking();
  const Scope draws = root / "masking";
  MaskedInputs masked{.inputs = encoder_inputs(in), .masked_ids = {}, .masks = {}};
  const EncoderInputs& tokens = masked.inputs;
  masked.masks = draw_masks(draws, rule, tokens.input_ids, tokens.input_mask);
  masked.masked_ids = put_masks(draws, rule, tokens.input_ids, masked.masks);
  return electra_objective(root, c, masked,
                           [&](Tensor logits) { return sample_ids(draws, logits); });
}

}  // namespace

MaskingRule ElectraTask::masking() const {
  return {.probability = mask_prob,
          .most = max_predictions(),
          .mask_id = ids.mask,
          .kept_ids = {ids.cls, ids.sep, ids.mask},
          .draws = masks};
}

Task electra_task(const ElectraTask& c) {
  check_electra_config(c.model, [](const std::string&) { return std::string("electra"); });
  check_lengths(c);
  check_generator(c);
  Task task;
  task.name = "electra";
  task.settings = settings(c);
  task.described = {{"seq_length", c.seq_length}};
  task.features = token_features(discriminator_config(c.model), c.seq_length);
  task.draws = true;
  task.dim_names = [model = c.model](std::string_view parameter) {
    return electra_dim_names(model, parameter);
  };
  task.objective = [c](const Scope& root, const Inputs& in) { return objective(c, root, in); };
  return task;
}

}  // namespace smelt
