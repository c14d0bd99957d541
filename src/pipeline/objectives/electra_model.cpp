#include "pipeline/objectives/electra_model.h"

#include <iomanip>
#include <sstream>

#include "base/log.h"
#include "base/number_format.h"
#include "checkpoint/interop/hugging_face_electra.h"
#include "execution/train_state/resume.h"
#include "io/filesystem/path.h"
#include "io/formats/config.h"
#include "pipeline/config/vocabulary_facts.h"
#include "text/tokenizers/tokenizer_config.h"
#include "text/tokenizers/unigram_json.h"

namespace smelt::pipeline {

model::ElectraIds special_ids(const text::Vocabulary& vocabulary) {
  return {.cls = vocabulary.id("[CLS]"),
          .sep = vocabulary.id("[SEP]"),
          .mask = vocabulary.id("[MASK]")};
}

model::ElectraTask with_files(model::ElectraTask settings, const text::Vocabulary& vocabulary,
                              const std::vector<std::string>& records,
                              const std::string& size_name) {
  settings.model.vocab_size = vocabulary_rows(settings.model.vocab_size, vocabulary, size_name);
  settings.ids = special_ids(vocabulary);
  settings.majority_token = majority_token(records, vocabulary);
  return settings;
}

bool has_hugging_face_generator(const model::ElectraTask& c) {
  return !c.settings.uniform_generator && !c.has_two_towers() && c.model.hidden_act == "gelu";
}

std::string discriminator_remark(const execution::Evaluation& e) {
  const auto share = [&](const char* name) { return percent(e.measure(name).value); };
  std::ostringstream out;
  out << "discriminator: " << share("disc_accuracy") << " of "
      << static_cast<std::int64_t>(e.measure("disc_accuracy").weight)
      << " held-out tokens correct, AUC " << std::fixed << std::setprecision(3)
      << e.measure("disc_auc").value
      << "; always predicting 'original': " << share("always_original_accuracy") << ", AUC 0.5\n";
  return out.str();
}

void export_electra(const ElectraExportJob& job) {
  model::ElectraTask c = job.task;
  const checkpoint::Checkpoint checkpoint = checkpoint::parameters_of(
      execution::load_trained_model("export", job.model_dir, io::config_json(c.model), job.vocab,
                                    job.averaged)
          .checkpoint);
  checkpoint::ModelFolder model;
  model.parameters = checkpoint.tensors;
  model.vocab_txt = text::vocabulary_bytes(job.vocab);
  model.tokenizer = text::load_tokenizer_config(job.vocab).value_or(job.tokenizer);
  const auto put = [&](const char* name, const checkpoint::ElectraPart& part, const char* cls) {
    const std::string to = io::join_path(job.folder, name);
    checkpoint::export_hugging_face(to, part, model, job.earlier);
    log_info("export: {} contains step {} for transformers' {}", to, checkpoint.step, cls);
  };
  if (c.settings.electric_objective)
    log_info(
        "export: the exported logit of Electric is its energy alone, without the generator's "
        "likelihood of the token, so it is not the log-odds of a replaced token");
  if (c.has_discriminator())
    put("discriminator", checkpoint::electra_discriminator(c.model), "ElectraForPreTraining");
  else
    c.model.untied_generator = false;  // the generator is the only encoder
  if (!has_hugging_face_generator(c))
    log_info("export: transformers has no class for this generator; it is not exported");
  else
    put("generator", checkpoint::electra_generator_part(c.model), "ElectraForMaskedLM");
}

}  // namespace smelt::pipeline
