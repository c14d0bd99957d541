#include "pipeline/objectives/masked_lm_objective.h"

#include "base/error.h"
#include "base/log.h"
#include "base/number_format.h"
#include "checkpoint/interop/deberta_parts.h"
#include "checkpoint/interop/stored_family.h"
#include "checkpoint/storage/lazy_files.h"
#include "data/preprocess/electra_examples.h"
#include "execution/train_state/resume.h"
#include "io/filesystem/file.h"
#include "model/tasks/bert_task.h"
#include "model/tasks/masked_lm_task.h"
#include "pipeline/config/recipe_checks.h"
#include "pipeline/config/recipe_paths.h"
#include "pipeline/config/train_job.h"
#include "pipeline/config/vocabulary_facts.h"
#include "pipeline/objectives/encoder_source.h"
#include "pipeline/objectives/objectives.h"
#include "text/tokenizers/unigram_json.h"

namespace smelt::pipeline {
namespace {

// Fields of data: that determine how the examples are made.
struct MaskedLmData {
  std::int64_t seq_length = 128;
  std::int64_t seed = 12345;
};

template <class C, class Visitor>
  requires std::same_as<std::remove_const_t<C>, MaskedLmData>
void visit_fields(C& c, Visitor&& visit) {
  visit("seq_length", c.seq_length, "tokens per example");
  visit("seed", c.seed, "random seed of the examples");
}

MaskedLmData masked_lm_data(const Recipe& r) {
  return io::parse_config<MaskedLmData>(r.data, "data");
}

constexpr const char *kMaskProb = "mask_prob", *kLastMaskProb = "last_mask_prob";

// Returns the share of tokens to mask.
double mask_prob(const MaskedLmFamily& family, const Recipe& r) {
  return r.model.value(kMaskProb, family.mask_prob);
}

// Returns `task` with its encoder, parsed from the fields `model`, and the ids of the special
// tokens. A vocab_size of 0 is replaced by the size of the vocabulary.
model::MaskedLmTask with_vocabulary(const std::string& family, Json model, model::MaskedLmTask task,
                                    const text::Vocabulary& vocabulary,
                                    const std::string& size_name) {
  model["vocab_size"] =
      vocabulary_rows(model.value("vocab_size", std::int64_t{0}), vocabulary, size_name);
  task.encoder = model::parse_encoder(family, model, "model");
  task.cls = vocabulary.id("[CLS]");
  task.sep = vocabulary.id("[SEP]");
  task.mask = vocabulary.id("[MASK]");
  return task;
}

// Returns the recipe's settings of the task, without encoder and special tokens.
model::MaskedLmTask settings_of(const MaskedLmFamily& family, const Recipe& r) {
  return {.seq_length = masked_lm_data(r).seq_length,
          .mask_prob = mask_prob(family, r),
          .last_mask_prob = r.model.value(kLastMaskProb, 0.0),
          .steps = r.train.steps};
}

model::MaskedLmTask task_of(const MaskedLmFamily& family, const Recipe& r) {
  return with_vocabulary(family.name, r.model, settings_of(family, r), vocabulary_of(r),
                         "model.vocab_size");
}

void check_masked_lm(const MaskedLmFamily& family, const Recipe& r) {
  const RecipeChecks checks(r);
  checks.at_least("data.seq_length", 5);
  checks.within("model.mask_prob", 0, 1, RecipeChecks::Ends::without);
  checks.at_least("model.vocab_size", 0);
  Json model = r.model;
  if (model.value("vocab_size", std::int64_t{0}) == 0) model["vocab_size"] = r.vocab.size;
  model::MaskedLmTask task = settings_of(family, r);
  task.encoder = model::parse_encoder(family.name, model, r.origin({"model.type"}) + ": model");
  const std::int64_t most = model::encoder_sizes(task.encoder).max_position_embeddings;
  checks.require(task.seq_length <= most, {"data.seq_length", "model.max_position_embeddings"},
                 str("data.seq_length is ", task.seq_length, ", must be at most ", most,
                     " for model.max_position_embeddings"),
                 "shorten the sequences or raise model.max_position_embeddings");
  checks.accepts({"model.mask_prob", "model.last_mask_prob", "data.seq_length"},
                 [&] { (void)model::masked_lm_task(task); });
  check_program(r, model::masked_lm_task(task));
}

std::uint64_t make_masked_lm_examples(const Recipe& r, ExampleSet set) {
  const RecipePaths paths(r);
  const MaskedLmData data = masked_lm_data(r);
  const bool train = set == ExampleSet::train;
  data::ElectraExamplesJob job;
  job.text.input = train ? paths.train_text : paths.heldout_text;
  job.vocab = paths.vocab;
  job.output = train ? paths.train_output : paths.heldout_output;
  job.shards = train ? r.ready.shards : 1;
  job.tokenizer = tokenizer_flags(r);
  job.options.seq_length = data.seq_length;
  job.overwrite = true;
  job.seed = data.seed;
  return data::build_electra_examples(job).examples;
}

// Returns the encoder of a stored model. Throws UsageError, which begins with `command`, if the
// model has no masked-language-model head or its sizes are unknown.
model::Encoder stored_encoder(const std::string& family, const checkpoint::StoredModel& m,
                              const char* command) {
  const checkpoint::StoredFamily& stored = checkpoint::family_of_encoder(family);
  if (stored.word_head(m.tensors).empty())
    throw UsageError(str(command, ": ", m.named(), " has no masked-language-model head"),
                     str("take a pretrained model, such as a folder of ",
                         stored.class_prefix(m.config), "ForMaskedLM"));
  checkpoint::require_sizes(m, command);
  return model::parse_encoder(family, m.config, m.where);
}

execution::FillMaskJob fill_stored(const std::string& family, const checkpoint::StoredModel& m) {
  const model::Encoder encoder = stored_encoder(family, m, "fill");
  execution::FillMaskJob job;
  job.guesses = [encoder](std::int64_t S, std::int64_t P, std::int64_t top) {
    return model::mask_guesses(encoder, S, P, top);
  };
  job.scores = [encoder](std::int64_t S, std::int64_t P) {
    return model::word_scores(encoder, S, P);
  };
  job.max_tokens = model::encoder_sizes(encoder).max_position_embeddings;
  job.vocab_size = model::encoder_sizes(encoder).vocab_size;
  return job;
}

EvaluateTextJob score_stored(const MaskedLmFamily& family, const checkpoint::StoredModel& m) {
  const model::Encoder encoder = stored_encoder(family.name, m, "eval");
  EvaluateTextJob job{.max_tokens = model::encoder_sizes(encoder).max_position_embeddings,
                      .make_examples = {},
                      .task = {}};
  job.task = [encoder](std::int64_t S, const std::string& records, const text::Vocabulary& words) {
    model::MaskedLmTask task = with_vocabulary(std::string(model::encoder_name(encoder)),
                                               model::encoder_config_json(encoder),
                                               {.seq_length = S}, words, "vocab_size");
    task.majority_token = majority_token({records}, words);
    return model::masked_lm_task(task);
  };
  return job;
}

FieldValues sizes_of_given(const std::string& family, const FieldValues& set) {
  return sizes_of_pretrained(set, [&](const std::string& init) {
    const model::Encoder encoder = encoder_in(init, "train.init_from");
    return model::encoder_name(encoder) == family ? model::encoder_config_json(encoder)
                                                  : Json::object();
  });
}

std::string masked_lm_remark(const Recipe&, const execution::Evaluation& e) {
  return str("masked LM: ", percent(e.measure("masked_lm_accuracy").value),
             " of the masked tokens correct");
}

}  // namespace

void use_unmasked_examples(ObjectiveType& type) {
  type.data = io::config_fields<MaskedLmData>();
  type.make_examples = make_masked_lm_examples;
  type.shards = true;
}

void export_family(const std::string& family, const Json& config, const Recipe& r,
                   const std::string& folder) {
  const RecipePaths paths(r);
  checkpoint::StoredModel model;
  model.config = config;
  const checkpoint::Checkpoint checkpoint =
      checkpoint::parameters_of(execution::load_trained_model("export", paths.trained, model.config,
                                                              paths.vocab, r.eval.averaged)
                                    .checkpoint);
  model.where = paths.trained;
  model.tensors = checkpoint::lazy_tensors(checkpoint.tensors);
  checkpoint::add_discriminator_words(model.tensors);
  model.vocab_txt = text::vocabulary_bytes(paths.vocab);
  model.tokenizer = text::tokenizer_options(paths.vocab, tokenizer_flags(r));
  checkpoint::FolderForm form;
  if (folder == paths.hugging_face) form.earlier = io::OutputDirectory::Earlier::replaced;
  checkpoint::family_of_encoder(family).write(folder, model, form);
  log_info("export: {} contains step {} for transformers", folder, checkpoint.step);
}

ObjectiveType masked_lm_objective_type(const MaskedLmFamily& family) {
  ObjectiveType type;
  type.name = family.name;
  type.help = family.help;
  type.model = family.fields;
  type.model.push_back({.name = kMaskProb,
                        .default_value = family.mask_prob,
                        .help = "share of tokens masked, drawn in each step"});
  type.model.push_back({.name = kLastMaskProb,
                        .default_value = 0.0,
                        .help = "share of tokens masked at the last step: the share changes "
                                "linearly from mask_prob, and evaluations use this one; 0: "
                                "mask_prob throughout"});
  use_unmasked_examples(type);
  type.check = [family](const Recipe& r) { check_masked_lm(family, r); };
  type.preset = [name = family.name](const FieldValues& set) { return sizes_of_given(name, set); };
  type.sizes_of_weights = [](const std::string& weights, const std::string& where) {
    return model::encoder_config_json(encoder_in(weights, where));
  };
  type.task = [family](const Recipe& r) {
    model::MaskedLmTask task = task_of(family, r);
    task.majority_token =
        majority_token(record_files(RecipePaths(r).train_records), vocabulary_of(r));
    return model::masked_lm_task(task);
  };
  type.model_files = [family](const Recipe& r) {
    return std::map<std::string, std::string>{
        {family.name + "_config.json",
         model::encoder_config_json(task_of(family, r).encoder).dump(2) + "\n"}};
  };
  type.remark = masked_lm_remark;
  type.inference = {
      .fill_mask =
          [name = family.name](const checkpoint::StoredModel& m) { return fill_stored(name, m); },
      .evaluate_text =
          [family](const checkpoint::StoredModel& m) { return score_stored(family, m); }};
  type.baseline = {.measure = "masked_lm_accuracy",
                   .of = "majority_token_accuracy",
                   .meaning = "always the most frequent token"};
  type.export_folder = [family](const Recipe& r, const std::string& folder) {
    export_family(family.name, model::encoder_config_json(task_of(family, r).encoder), r, folder);
  };
  return type;
}

}  // namespace smelt::pipeline
