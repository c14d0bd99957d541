#include "cli/electra_model.h"

#include "cli/vocabulary_facts.h"
#include "format/config.h"

namespace smelt {

ElectraIds special_ids(const Vocabulary& vocabulary) {
  return {.cls = vocabulary.id("[CLS]"),
          .sep = vocabulary.id("[SEP]"),
          .mask = vocabulary.id("[MASK]")};
}

ElectraTask with_files(ElectraTask settings, const Vocabulary& vocabulary,
                       const std::vector<std::string>& records, const std::string& size_name) {
  settings.model.vocab_size = vocabulary_rows(settings.model.vocab_size, vocabulary, size_name);
  settings.ids = special_ids(vocabulary);
  settings.majority_token = majority_token(records, vocabulary);
  return settings;
}

FillMaskJob electra_fill_job(const ElectraTask& c) {
  FillMaskJob job;
  job.guesses = [c](std::int64_t S, std::int64_t P, std::int64_t top) {
    return electra_mask_guesses(c, S, P, top, "fill");
  };
  job.model = config_json(c.model);
  job.max_tokens = c.model.max_position_embeddings;
  job.vocab_size = c.model.vocab_size;
  return job;
}

DetectJob electra_detect_job(const ElectraTask& c) {
  DetectJob job;
  job.replaced = [c](std::int64_t S) { return electra_replaced(c, S, "detect"); };
  job.model = config_json(c.model);
  job.max_tokens = c.model.max_position_embeddings;
  return job;
}

}  // namespace smelt
