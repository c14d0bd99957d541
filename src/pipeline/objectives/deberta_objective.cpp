// model.type: deberta.
#include "model/models/deberta_config.h"
#include "pipeline/objectives/masked_lm_objective.h"
#include "pipeline/objectives/objectives.h"

namespace smelt::pipeline {

ObjectiveType deberta_objective() {
  return masked_lm_objective_type(
      {.name = "deberta",
       .help = "masked tokens with disentangled attention to relative positions (He et al. 2021)",
       .fields = io::config_fields<model::DebertaConfig>()});
}

}  // namespace smelt::pipeline
