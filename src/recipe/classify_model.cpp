#include "recipe/classify_model.h"

#include "base/error.h"
#include "format/config.h"
#include "recipe/encoder_source.h"

namespace smelt {

ClassifyJob classify_job(const ClassifyTask& task) {
  ClassifyJob job;
  job.probabilities = [task](std::int64_t S) { return class_probabilities(task, S); };
  job.labels = task.labels;
  job.most_tokens = task.seq_length;
  job.model = encoder_config_json(task.encoder);
  return job;
}

ClassifyTask stored_classifier(const StoredModel& m) {
  // A checkpoint of smelt's says it in its settings, a Hugging Face folder in its config.
  const bool own = m.settings.is_object() && m.settings.contains("labels");
  const nlohmann::json& said = own ? m.settings : m.objective;
  if (!said.is_object() || !said.contains("labels"))
    throw UsageError(str(m.where, ": its classes are not known"),
                     "take the folder that a run was exported to, or the run's own");
  ClassifyTask task{.encoder = encoder_of(m)};
  task.labels = {
      .problem = choose_of(str(m.where, ": problem"), said.value("problem", ""), kProblems),
      .names = said["labels"].get<std::vector<std::string>>()};
  task.dropout = said.value("dropout", task.dropout);
  task.seq_length = said.value("seq_length", encoder_sizes(task.encoder).max_position_embeddings);
  return task;
}

}  // namespace smelt
