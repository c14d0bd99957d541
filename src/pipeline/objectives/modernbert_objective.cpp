// model.type: modernbert.
#include "model/models/modernbert_config.h"
#include "pipeline/objectives/masked_lm_objective.h"
#include "pipeline/objectives/objectives.h"

namespace smelt::pipeline {

ObjectiveType modernbert_objective() {
  return masked_lm_objective_type(
      {.name = "modernbert",
       .help = "masked tokens with rotary positions and local attention (Warner et al. 2024)",
       .fields = io::config_fields<model::ModernbertConfig>(),
       .mask_prob = 0.3});
}

}  // namespace smelt::pipeline
