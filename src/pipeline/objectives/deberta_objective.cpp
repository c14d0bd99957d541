// model.type: deberta.
#include "base/error.h"
#include "model/models/deberta_config.h"
#include "model/tasks/deberta_rtd_task.h"
#include "pipeline/objectives/masked_lm_objective.h"
#include "pipeline/objectives/objectives.h"

namespace smelt::pipeline {

// Returns the job that detects replaced tokens. Throws UsageError if the model lacks the head for
// it.
static execution::DetectJob detect_stored_deberta(const checkpoint::StoredModel& m) {
  if (!m.tensors.contains("mask_predictions/dense/bias"))
    throw UsageError(
        str("detect: ", m.named(), " has no head that detects replaced tokens"),
        "name the folder of a discriminator, such as a run's huggingface/discriminator "
        "of model.type deberta_rtd");
  checkpoint::require_sizes(m, "detect");
  const model::Encoder encoder = model::parse_encoder("deberta", m.config, m.where);
  execution::DetectJob job;
  job.replaced = [encoder](std::int64_t S) { return model::deberta_replaced(encoder, S); };
  job.max_tokens = model::encoder_sizes(encoder).max_position_embeddings;
  return job;
}

ObjectiveType deberta_objective() {
  ObjectiveType type = masked_lm_objective_type(
      {.name = "deberta",
       .help = "masked tokens with disentangled attention to relative positions (He et al. 2021)",
       .fields = io::config_fields<model::DebertaConfig>()});
  type.inference.detect = detect_stored_deberta;
  return type;
}

}  // namespace smelt::pipeline
