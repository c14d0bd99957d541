// model.type: roberta.
#include "model/models/roberta_config.h"
#include "pipeline/objectives/masked_lm_objective.h"
#include "pipeline/objectives/objectives.h"

namespace smelt::pipeline {

ObjectiveType roberta_objective() {
  return masked_lm_objective_type(
      {.name = "roberta",
       .help = "masked tokens, with new masks in each step (Liu et al. 2019)",
       .fields = io::config_fields<model::RobertaConfig>(),
       .mask_prob = 0.15});
}

}  // namespace smelt::pipeline
