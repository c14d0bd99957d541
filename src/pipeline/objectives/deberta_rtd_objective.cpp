// model.type: deberta_rtd.
#include "base/error.h"
#include "base/number_format.h"
#include "checkpoint/interop/pretrained_weights.h"
#include "io/filesystem/folder.h"
#include "model/tasks/deberta_rtd_task.h"
#include "pipeline/config/recipe_checks.h"
#include "pipeline/config/recipe_paths.h"
#include "pipeline/config/train_job.h"
#include "pipeline/config/vocabulary_facts.h"
#include "pipeline/objectives/electra_model.h"
#include "pipeline/objectives/masked_lm_objective.h"
#include "pipeline/objectives/objectives.h"

namespace smelt::pipeline {
namespace {

constexpr const char* kRtdType = "deberta_rtd";

model::DebertaRtdTask rtd_settings(const Recipe& r) {
  return {.model = io::parse_config<model::DebertaConfig>(r.model, "model"),
          .settings = io::parse_config<model::DebertaRtdSettings>(r.model, "model"),
          .seq_length = r.data.value("seq_length", std::int64_t{128})};
}

// Returns the task with all settings that depend on the vocabulary and the records.
model::DebertaRtdTask finished_rtd(const Recipe& r) {
  model::DebertaRtdTask c = rtd_settings(r);
  const text::Vocabulary vocabulary = vocabulary_of(r);
  c.model.vocab_size = vocabulary_rows(c.model.vocab_size, vocabulary, "model.vocab_size");
  c.ids = special_ids(vocabulary);
  c.majority_token = majority_token(record_files(RecipePaths(r).train_records), vocabulary);
  return c;
}

// Throws UsageError if train.init_from is a Hugging Face folder: it has no table of differences
// between the embeddings of discriminator and generator.
void check_rtd_weights(const Recipe& r) {
  const std::string& init = r.train.init_from;
  if (init.empty() || !io::exists(init) || checkpoint::hugging_face_folders(init).empty()) return;
  throw UsageError(str(r.origin({"train.init_from"}), ": ", init,
                       " is a Hugging Face folder; model.type deberta_rtd continues only from a "
                       "checkpoint of smelt"),
                   "use model.type deberta to continue with masked tokens, or classify to "
                   "fine-tune");
}

void check_deberta_rtd(const Recipe& r) {
  const RecipeChecks checks(r);
  checks.at_least("data.seq_length", 5);
  checks.at_least("model.vocab_size", 0);
  model::DebertaRtdTask c = rtd_settings(r);
  if (c.model.vocab_size == 0) c.model.vocab_size = r.vocab.size;
  (void)model::deberta_encoder(c.model, r.origin({"model.type"}) + ": model");
  checks.fits_positions(c.seq_length, c.model.max_position_embeddings);
  check_rtd_weights(r);
  c.ids = {.cls = 2, .sep = 3, .mask = 4};  // placeholders until there is a vocabulary
  model::Task task;
  checks.accepts({"model.mask_prob", "data.seq_length", "model.temperature"},
                 [&] { task = model::deberta_rtd_task(c); });
  check_program(r, task);
}

std::string rtd_remark(const Recipe&, const execution::Evaluation& e) {
  return str(discriminator_remark(e), "generator: ", percent(e.measure("masked_lm_accuracy").value),
             " of the masked tokens correct");
}

}  // namespace

ObjectiveType deberta_rtd_objective() {
  ObjectiveType type;
  type.name = kRtdType;
  type.help = "DeBERTa that detects the tokens that a generator replaced (He et al. 2023)";
  type.model = io::config_fields<model::DebertaConfig>();
  const auto settings = io::config_fields<model::DebertaRtdSettings>();
  type.model.insert(type.model.end(), settings.begin(), settings.end());
  use_unmasked_examples(type);
  type.check = check_deberta_rtd;
  type.task = [](const Recipe& r) { return model::deberta_rtd_task(finished_rtd(r)); };
  type.model_files = [](const Recipe& r) {
    return std::map<std::string, std::string>{
        {"deberta_config.json", io::config_json(finished_rtd(r).model).dump(2) + "\n"}};
  };
  type.remark = rtd_remark;
  type.baseline = {.measure = "disc_accuracy",
                   .of = "always_original_accuracy",
                   .meaning = "calling every token original"};
  type.inference.exported = {{"detect", "discriminator"}, {"fill", "generator"}};
  type.export_folder = [](const Recipe& r, const std::string& folder) {
    export_family("deberta", io::config_json(finished_rtd(r).model), r, folder);
  };
  return type;
}

}  // namespace smelt::pipeline
