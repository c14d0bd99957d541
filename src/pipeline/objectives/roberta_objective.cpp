// model.type: roberta.
#include "model/models/roberta_config.h"
#include "pipeline/objectives/masked_lm_objective.h"
#include "pipeline/objectives/objectives.h"

namespace smelt::pipeline {
namespace {

// Additional fields of the section `model`, which are not part of the encoder's config.
struct RobertaMasking {
  double mask_prob = 0.15;
};

template <class C, class Visitor>
  requires std::same_as<std::remove_const_t<C>, RobertaMasking>
void visit_fields(C& c, Visitor&& visit) {
  visit("mask_prob", c.mask_prob, "share of tokens masked, drawn in each step");
}

}  // namespace

ObjectiveType roberta_objective() {
  MaskedLmFamily family{.name = "roberta",
                        .help = "masked tokens, with new masks in each step (Liu et al. 2019)",
                        .fields = io::config_fields<model::RobertaConfig>(),
                        .mask_prob = [](const Recipe& r) {
                          return io::parse_config<RobertaMasking>(r.model, "model").mask_prob;
                        }};
  for (const io::ConfigField& field : io::config_fields<RobertaMasking>())
    family.fields.push_back(field);
  return masked_lm_objective_type(family);
}

}  // namespace smelt::pipeline
