#include "cli/electra_model.h"

#include "cli/vocabulary_facts.h"

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

}  // namespace smelt
