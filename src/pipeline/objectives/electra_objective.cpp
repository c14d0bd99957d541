// model.type: electra.
#include <sstream>

#include "base/error.h"
#include "base/number_format.h"
#include "data/preprocess/electra_examples.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"
#include "pipeline/config/recipe_checks.h"
#include "pipeline/config/recipe_paths.h"
#include "pipeline/config/train_job.h"
#include "pipeline/objectives/electra_model.h"
#include "pipeline/objectives/encoder_source.h"
#include "pipeline/objectives/objectives.h"

namespace smelt::pipeline {
namespace {

constexpr const char* kElectraType = "electra";

// Fields of data: that determine how ELECTRA's examples are made. Masks are drawn during training.
struct ElectraData {
  std::int64_t seq_length = 128;
  std::int64_t seed = 12345;
  std::string order = "shuffled";
};

template <class C, class Visitor>
  requires std::same_as<std::remove_const_t<C>, ElectraData>
void visit_fields(C& c, Visitor&& visit) {
  visit("seq_length", c.seq_length, "tokens per example");
  visit("seed", c.seed, "random seed of the examples");
  visit("order", c.order,
        "order of the examples: shuffled (made on all cores, with bounded memory) or original (the "
        "same examples as the original program)");
}

model::ElectraTask settings_of(const Recipe& r) {
  model::ElectraTask c;
  c.model = io::parse_config<model::ElectraConfig>(r.model, "model");
  c.settings = io::parse_config<model::ElectraSettings>(r.model, "model");
  c.seq_length = io::parse_config<ElectraData>(r.data, "data").seq_length;
  return c;
}

// Returns the task with all settings that depend on the vocabulary and the records.
model::ElectraTask finished_task(const Recipe& r) {
  return with_files(settings_of(r), vocabulary_of(r), record_files(RecipePaths(r).train_records),
                    "model.vocab_size");
}

void check_electra(const Recipe& r) {
  const RecipeChecks checks(r);
  checks.one_of("model.masks", {"distinct", "original"});
  model::ElectraTask c = settings_of(r);
  checks.at_least("data.seq_length", 5);  // [CLS] a [SEP] b [SEP]
  checks.one_of("data.order", {"shuffled", "original"});
  checks.at_least("model.vocab_size", 0);
  if (c.model.vocab_size == 0) c.model.vocab_size = r.vocab.size;
  model::check_electra_config(c.model, [&](const std::string& field) {
    return str(r.origin({"model." + field}), ": model");
  });
  checks.require(c.has_discriminator() || has_hugging_face_generator(c), {"model.hidden_act"},
                 str("model.hidden_act is '", c.model.hidden_act,
                     "': the model could not be exported, because transformers' ElectraForMaskedLM "
                     "uses gelu in its head"),
                 "set it to gelu");
  checks.fits_positions(c.seq_length, c.model.max_position_embeddings);
  c.ids = {.cls = 2, .sep = 3, .mask = 4};  // placeholders until there is a vocabulary
  model::Task task;
  checks.accepts({"model.mask_prob", "data.seq_length", "model.temperature"},
                 [&] { task = model::electra_task(c); });
  check_program(r, task);
}

std::uint64_t make_electra_examples(const Recipe& r, ExampleSet set) {
  const RecipePaths paths(r);
  const auto data = io::parse_config<ElectraData>(r.data, "data");
  const bool train = set == ExampleSet::train;
  data::ElectraExamplesJob job;
  job.text.input = train ? paths.train_text : paths.heldout_text;
  job.vocab = paths.vocab;
  job.output = train ? paths.train_output : paths.heldout_output;
  job.shards = train ? r.ready.shards : 1;
  job.order = data::parse_example_order(data.order);
  job.tokenizer = tokenizer_flags(r);
  job.options.seq_length = data.seq_length;
  job.overwrite = true;
  job.seed = data.seed;
  return data::build_electra_examples(job).examples;
}

// Formats the accuracies of discriminator and generator beside those of constant predictions.
std::string electra_remark(const Recipe& r, const execution::Evaluation& e) {
  const model::ElectraTask c = finished_task(r);
  const auto share = [&](const char* name) { return percent(e.measure(name).value); };
  std::ostringstream out;
  if (c.has_discriminator()) out << discriminator_remark(e);
  out << (c.has_discriminator() ? "generator: " : "masked LM: ") << share("masked_lm_accuracy")
      << " of " << static_cast<std::int64_t>(e.measure("masked_lm_accuracy").weight)
      << " masked tokens correct";
  if (c.majority_token)
    out << "; always predicting '" << vocabulary_of(r).token(*c.majority_token)
        << "': " << share("majority_token_accuracy");
  return out.str();
}

// Returns the task of a stored model. A checkpoint of another program does not contain its
// objective, so it is derived from the heads.
model::ElectraTask stored_task(const checkpoint::StoredModel& m) {
  const auto has = [&](const char* name) { return m.tensors.contains(name); };
  model::ElectraTask c;
  c.model = io::parse_config<model::ElectraConfig>(m.config, m.where);
  c.settings.electra_objective = has("discriminator_predictions/dense/bias");
  c.settings.two_tower_generator = has("cloze_predictions/output_bias");
  if (m.objective.is_object())
    c.settings = io::parse_config<model::ElectraSettings>(m.objective, m.where);
  return c;
}

// Returns the job that detects replaced tokens. Throws UsageError if the model may be Electric or
// ELECTRA with two towers: they have the same heads, but their logits have different meanings.
execution::DetectJob detect_stored_electra(const checkpoint::StoredModel& m) {
  const model::ElectraTask c = stored_task(m);
  if (!m.objective.is_object() && c.settings.electra_objective && c.settings.two_tower_generator)
    throw UsageError(
        str("detect: ", m.where,
            ": is either Electric or ELECTRA with two towers, and its folder does not show which"),
        R"(add "objective": {"electric_objective": true} to the electra_config.json beside it, or )"
        R"({"two_tower_generator": true})");
  execution::DetectJob job;
  job.replaced = [c](std::int64_t S) { return model::electra_replaced(c, S, "detect"); };
  job.max_tokens = c.model.max_position_embeddings;
  return job;
}

execution::FillMaskJob fill_stored_electra(const checkpoint::StoredModel& m) {
  const model::ElectraTask c = stored_task(m);
  if (!c.has_two_towers() && !m.tensors.contains("generator_predictions/output_bias"))
    throw UsageError(str("fill: ", m.named(), " has no generator"),
                     "name a folder that contains the generator");
  execution::FillMaskJob job;
  job.guesses = [c](std::int64_t S, std::int64_t P, std::int64_t top) {
    return model::electra_mask_guesses(c, S, P, top, "fill");
  };
  job.scores = [c](std::int64_t S, std::int64_t P) {
    return model::electra_word_scores(c, S, P, "score");
  };
  job.max_tokens = c.model.max_position_embeddings;
  job.vocab_size = c.model.vocab_size;
  return job;
}

EvaluateTextJob score_stored_electra(const checkpoint::StoredModel& m) {
  const model::ElectraTask c = stored_task(m);
  const bool guesses = m.tensors.contains(c.has_two_towers() ? "cloze_predictions/output_bias"
                                                             : "generator_predictions/output_bias");
  if (!guesses && !c.settings.uniform_generator)
    throw UsageError(str("eval: ", m.where, " has no generator, which is needed to replace tokens"),
                     "name a folder or checkpoint with discriminator and generator");
  EvaluateTextJob job{
      .max_tokens = c.model.max_position_embeddings, .make_examples = {}, .task = {}};
  job.task = [c](std::int64_t S, const std::string& records, const text::Vocabulary& words) {
    model::ElectraTask task = with_files(c, words, {records}, "vocab_size");
    task.seq_length = S;
    return model::electra_task(task);
  };
  return job;
}

void export_recipes_model(const Recipe& r, const std::string& folder) {
  const RecipePaths paths(r);
  export_electra({.task = finished_task(r),
                  .model_dir = paths.trained,
                  .vocab = paths.vocab,
                  .tokenizer = text::options_of(tokenizer_flags(r)),
                  .folder = folder,
                  .earlier = folder == paths.hugging_face ? io::OutputDirectory::Earlier::replaced
                                                          : io::OutputDirectory::Earlier::refused,
                  .averaged = r.eval.averaged});
}

// Returns whether the folder contains only a generator in Hugging Face format. The sizes in its
// config are not those of the discriminator, so a recipe cannot use them.
bool is_generator(const std::string& folder) {
  const std::string path = io::join_path(folder, "config.json");
  if (!io::exists(path)) return false;
  const Json config = Json::parse_or_discard(io::read_file(path, io::kSmallFileBytes));
  return config.is_object() &&
         config.value("architectures", Json()).dump().find("ForMaskedLM") != std::string::npos;
}

FieldValues sizes_of_given_electra(const FieldValues& set) {
  return sizes_of_pretrained(set, [](const std::string& init) {
    if (is_generator(init)) return Json::object();
    const model::Encoder encoder = encoder_in(init, "train.init_from");
    return model::encoder_name(encoder) == kElectraType ? model::encoder_config_json(encoder)
                                                        : Json::object();
  });
}

}  // namespace

ObjectiveType electra_objective() {
  ObjectiveType type;
  type.name = kElectraType;
  type.help = "detection of tokens that a generator replaced (Clark et al. 2020)";
  type.model = io::config_fields<model::ElectraConfig>();
  const auto objective = io::config_fields<model::ElectraSettings>();
  type.model.insert(type.model.end(), objective.begin(), objective.end());
  type.data = io::config_fields<ElectraData>();
  type.control = text::ControlCharacters::electra;
  type.check = check_electra;
  type.preset = sizes_of_given_electra;
  type.make_examples = make_electra_examples;
  type.task = [](const Recipe& r) { return model::electra_task(finished_task(r)); };
  type.model_files = [](const Recipe& r) {
    return std::map<std::string, std::string>{
        {"electra_config.json", io::config_json(finished_task(r).model).dump(2) + "\n"}};
  };
  type.remark = electra_remark;
  type.inference = {.fill_mask = fill_stored_electra,
                    .detect = detect_stored_electra,
                    .evaluate_text = score_stored_electra};
  type.baseline = {.measure = "disc_accuracy",
                   .of = "always_original_accuracy",
                   .meaning = "calling every token original"};
  type.shards = true;
  type.export_folder = export_recipes_model;
  return type;
}

}  // namespace smelt::pipeline
