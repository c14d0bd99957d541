// model.type: roberta.
#include "base/error.h"
#include "base/log.h"
#include "base/number_format.h"
#include "checkpoint/interop/stored_family.h"
#include "checkpoint/storage/lazy_files.h"
#include "data/preprocess/electra_examples.h"
#include "execution/train_state/resume.h"
#include "io/filesystem/file.h"
#include "model/models/roberta_config.h"
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

constexpr const char* kRobertaType = "roberta";

// Fields of model: besides those of the encoder.
struct RobertaMasking {
  double mask_prob = 0.15;
};

template <class C, class Visitor>
  requires std::same_as<std::remove_const_t<C>, RobertaMasking>
void visit_fields(C& c, Visitor&& visit) {
  visit("mask_prob", c.mask_prob, "share of tokens masked, drawn in each step");
}

// Fields of data: that determine how the examples are made.
struct RobertaData {
  std::int64_t seq_length = 128;
  std::int64_t seed = 12345;
};

template <class C, class Visitor>
  requires std::same_as<std::remove_const_t<C>, RobertaData>
void visit_fields(C& c, Visitor&& visit) {
  visit("seq_length", c.seq_length, "tokens per example");
  visit("seed", c.seed, "random seed of the examples");
}

RobertaData roberta_data(const Recipe& r) { return io::parse_config<RobertaData>(r.data, "data"); }

model::MaskedLmTask with_vocabulary(model::RobertaConfig model, model::MaskedLmTask task,
                                    const text::Vocabulary& vocabulary,
                                    const std::string& size_name) {
  model.vocab_size = vocabulary_rows(model.vocab_size, vocabulary, size_name);
  task.encoder = model::roberta_encoder(std::move(model), "model");
  task.cls = vocabulary.id("[CLS]");
  task.sep = vocabulary.id("[SEP]");
  task.mask = vocabulary.id("[MASK]");
  return task;
}

model::MaskedLmTask roberta_task(const Recipe& r) {
  model::MaskedLmTask task{
      .seq_length = roberta_data(r).seq_length,
      .mask_prob = io::parse_config<RobertaMasking>(r.model, "model").mask_prob};
  return with_vocabulary(io::parse_config<model::RobertaConfig>(r.model, "model"), std::move(task),
                         vocabulary_of(r), "model.vocab_size");
}

void check_roberta(const Recipe& r) {
  const RecipeChecks checks(r);
  checks.at_least("data.seq_length", 5);
  checks.within("model.mask_prob", 0, 1, RecipeChecks::Ends::without);
  checks.at_least("model.vocab_size", 0);
  auto model = io::parse_config<model::RobertaConfig>(r.model, "model");
  if (model.vocab_size == 0) model.vocab_size = r.vocab.size;
  model::MaskedLmTask task{
      .encoder = model::roberta_encoder(std::move(model), r.origin({"model.type"}) + ": model"),
      .seq_length = roberta_data(r).seq_length,
      .mask_prob = io::parse_config<RobertaMasking>(r.model, "model").mask_prob};
  const std::int64_t most = model::encoder_sizes(task.encoder).max_position_embeddings;
  checks.require(task.seq_length <= most, {"data.seq_length", "model.max_position_embeddings"},
                 str("data.seq_length is ", task.seq_length, ", must be at most ", most,
                     " for model.max_position_embeddings"),
                 "shorten the sequences or raise model.max_position_embeddings");
  checks.accepts({"model.mask_prob", "data.seq_length"},
                 [&] { (void)model::masked_lm_task(task); });
  check_program(r, model::masked_lm_task(task));
}

std::uint64_t make_roberta_examples(const Recipe& r, ExampleSet set) {
  const RecipePaths paths(r);
  const RobertaData data = roberta_data(r);
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

// Returns the encoder. Throws UsageError, which begins with `command`, if the model has no
// masked-LM head.
model::Encoder stored_roberta(const checkpoint::StoredModel& m, const char* command) {
  if (!m.tensors.contains("lm_head/output_bias"))
    throw UsageError(str(command, ": ", m.named(), " has no masked-language-model head"),
                     "take a pretrained model, such as a folder of RobertaForMaskedLM");
  checkpoint::require_sizes(m, command);
  return model::parse_encoder(kRobertaType, m.config, m.where);
}

execution::FillMaskJob fill_stored_roberta(const checkpoint::StoredModel& m) {
  const model::Encoder encoder = stored_roberta(m, "fill");
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

EvaluateTextJob score_stored_roberta(const checkpoint::StoredModel& m) {
  const model::Encoder encoder = stored_roberta(m, "eval");
  EvaluateTextJob job{.max_tokens = model::encoder_sizes(encoder).max_position_embeddings,
                      .make_examples = {},
                      .task = {}};
  job.task = [encoder](std::int64_t S, const std::string& records, const text::Vocabulary& words) {
    const auto model =
        io::parse_config<model::RobertaConfig>(model::encoder_config_json(encoder), "model");
    model::MaskedLmTask task = with_vocabulary(model, {.seq_length = S}, words, "vocab_size");
    task.majority_token = majority_token({records}, words);
    return model::masked_lm_task(task);
  };
  return job;
}

void export_roberta(const Recipe& r, const std::string& folder) {
  const RecipePaths paths(r);
  checkpoint::StoredModel model;
  model.config = model::encoder_config_json(roberta_task(r).encoder);
  const checkpoint::Checkpoint checkpoint =
      checkpoint::parameters_of(execution::load_trained_model("export", paths.trained, model.config,
                                                              paths.vocab, r.eval.averaged)
                                    .checkpoint);
  model.where = paths.trained;
  model.tensors = checkpoint::lazy_tensors(checkpoint.tensors);
  model.vocab_txt = text::vocabulary_bytes(paths.vocab);
  model.tokenizer = text::tokenizer_options(paths.vocab, tokenizer_flags(r));
  checkpoint::FolderForm form;
  if (folder == paths.hugging_face) form.earlier = io::OutputDirectory::Earlier::replaced;
  checkpoint::family_of_encoder(kRobertaType).write(folder, model, form);
  log_info("export: {} contains step {} for transformers", folder, checkpoint.step);
}

FieldValues sizes_of_given_roberta(const FieldValues& set) {
  return sizes_of_pretrained(set, [](const std::string& init) {
    const model::Encoder encoder = encoder_in(init, "train.init_from");
    return model::encoder_name(encoder) == kRobertaType ? model::encoder_config_json(encoder)
                                                        : Json::object();
  });
}

std::string roberta_remark(const Recipe&, const execution::Evaluation& e) {
  return str("masked LM: ", percent(e.measure("masked_lm_accuracy").value),
             " of the masked tokens correct");
}

}  // namespace

ObjectiveType roberta_objective() {
  ObjectiveType type;
  type.name = kRobertaType;
  type.help = "masked tokens, with new masks in each step (Liu et al. 2019)";
  type.model = io::config_fields<model::RobertaConfig>();
  for (const io::ConfigField& field : io::config_fields<RobertaMasking>())
    type.model.push_back(field);
  type.data = io::config_fields<RobertaData>();
  type.check = check_roberta;
  type.preset = sizes_of_given_roberta;
  type.sizes_of_weights = [](const std::string& weights, const std::string& where) {
    return model::encoder_config_json(encoder_in(weights, where));
  };
  type.make_examples = make_roberta_examples;
  type.task = [](const Recipe& r) {
    model::MaskedLmTask task = roberta_task(r);
    task.majority_token =
        majority_token(record_files(RecipePaths(r).train_records), vocabulary_of(r));
    return model::masked_lm_task(task);
  };
  type.model_files = [](const Recipe& r) {
    return std::map<std::string, std::string>{
        {"roberta_config.json",
         model::encoder_config_json(roberta_task(r).encoder).dump(2) + "\n"}};
  };
  type.remark = roberta_remark;
  type.inference = {.fill_mask = fill_stored_roberta, .evaluate_text = score_stored_roberta};
  type.baseline = {.measure = "masked_lm_accuracy",
                   .of = "majority_token_accuracy",
                   .meaning = "always the most frequent token"};
  type.shards = true;
  type.export_folder = export_roberta;
  return type;
}

}  // namespace smelt::pipeline
