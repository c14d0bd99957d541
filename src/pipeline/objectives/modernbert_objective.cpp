// model.type: modernbert.
#include "model/models/modernbert_config.h"
#include "pipeline/objectives/masked_lm_objective.h"
#include "pipeline/objectives/objectives.h"

namespace smelt::pipeline {
namespace {

// Additional fields of the section `model`, which are not part of the encoder's config.
struct ModernbertMasking {
  double mask_prob = 0.3;
};

template <class C, class Visitor>
  requires std::same_as<std::remove_const_t<C>, ModernbertMasking>
void visit_fields(C& c, Visitor&& visit) {
  visit("mask_prob", c.mask_prob, "share of tokens masked, drawn in each step");
}

}  // namespace

ObjectiveType modernbert_objective() {
  MaskedLmFamily family{
      .name = "modernbert",
      .help = "masked tokens with rotary positions and local attention (Warner et al. 2024)",
      .fields = io::config_fields<model::ModernbertConfig>(),
      .mask_prob = [](const Recipe& r) {
        return io::parse_config<ModernbertMasking>(r.model, "model").mask_prob;
      }};
  for (const io::ConfigField& field : io::config_fields<ModernbertMasking>())
    family.fields.push_back(field);
  return masked_lm_objective_type(family);
}

}  // namespace smelt::pipeline
