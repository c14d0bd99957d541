// model.type: bert.

#include <iomanip>
#include <sstream>

#include "base/error.h"
#include "base/log.h"
#include "checkpoint/interop/hugging_face.h"
#include "data/preprocess/bert_examples.h"
#include "execution/train_state/resume.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "model/models/bert_config.h"
#include "model/tasks/bert_task.h"
#include "pipeline/config/recipe_checks.h"
#include "pipeline/config/recipe_paths.h"
#include "pipeline/config/train_job.h"
#include "pipeline/config/vocabulary_facts.h"
#include "pipeline/objectives/bert_report.h"
#include "pipeline/objectives/encoder_source.h"
#include "pipeline/objectives/objectives.h"
#include "text/tokenizers/unigram_json.h"

namespace smelt::pipeline {
namespace {

constexpr const char* kBertType = "bert";
// Percentage of tokens to mask when text is evaluated, as in training.
constexpr std::int64_t kMaskedLmShare = 15;

constexpr const char* kMaskedLmHint =
    "use a pretrained model of Hugging Face's classes BertForPreTraining or BertForMaskedLM";

// Fields of data: that determine how BERT's examples are made.
struct BertData {
  std::int64_t seq_length = 128;
  std::int64_t max_predictions = 20;
  double masked_lm_prob = 0.15;
  double short_seq_prob = 0.1;
  std::int64_t dupe_factor = 5;
  std::int64_t seed = 12345;
  bool whole_word_mask = false;
  bool next_sentence = true;
  std::string order = "shuffled";
};

template <class C, class Visitor>
  requires std::same_as<std::remove_const_t<C>, BertData>
void visit_fields(C& c, Visitor&& visit) {
  visit("seq_length", c.seq_length, "tokens per example");
  visit("max_predictions", c.max_predictions, "maximum number of masked tokens per example");
  visit("masked_lm_prob", c.masked_lm_prob, "share of tokens masked");
  visit("short_seq_prob", c.short_seq_prob,
        "share of documents that are split into shorter examples; if data.next_sentence is false, "
        "share of the examples that are shorter");
  visit("dupe_factor", c.dupe_factor, "times to use each document, each time with different masks");
  visit("seed", c.seed, "random seed of the examples");
  visit("whole_word_mask", c.whole_word_mask, "mask all pieces of a word together");
  visit("next_sentence", c.next_sentence,
        "true: examples are pairs of sentences, for next sentence prediction; false: examples are "
        "contiguous text, and only masked tokens are predicted");
  visit("order", c.order,
        "order of the examples: shuffled (made on all cores, with bounded memory) or original (the "
        "same bytes as the original program)");
}

BertData data_of(const Recipe& r) { return io::parse_config<BertData>(r.data, "data"); }
model::BertConfig model_of(const Recipe& r) {
  return io::parse_config<model::BertConfig>(r.model, "model");
}

// Returns the model config with the size of the vocabulary.
model::BertConfig resolved_model(const Recipe& r) {
  model::BertConfig model = model_of(r);
  model.vocab_size = vocabulary_rows(model.vocab_size, vocabulary_of(r), "model.vocab_size");
  return model;
}

void check(const Recipe& r) {
  const RecipeChecks checks(r);
  const BertData data = data_of(r);
  model::BertConfig model = model_of(r);
  checks.at_least("data.seq_length", 5);  // [CLS] a [SEP] b [SEP]
  checks.at_least("data.max_predictions", 1);
  checks.at_least("data.dupe_factor", 1);
  checks.within("data.masked_lm_prob", 0, 1, RecipeChecks::Ends::without);
  checks.within("data.short_seq_prob", 0, 1);
  checks.one_of("data.order", {"shuffled", "original"});
  checks.at_least("model.vocab_size", 0);
  if (model.vocab_size == 0) model.vocab_size = r.vocab.size;
  model::check_bert_config(model, [&](const std::string& field) {
    const bool heads = field == "hidden_size";
    return str(r.origin({"model." + field, heads ? "model.num_attention_heads" : "model." + field}),
               ": model");
  });
  checks.fits_positions(data.seq_length, model.max_position_embeddings);
  checks.require(!data.next_sentence || model.type_vocab_size >= 2,
                 {"data.next_sentence", "model.type_vocab_size"},
                 str("model.type_vocab_size ", model.type_vocab_size,
                     " has no segment type for the second sentence of data.next_sentence"),
                 "set model.type_vocab_size to 2, or data.next_sentence to false");
  check_program(r, model::bert_task({.model = model,
                                     .seq_length = data.seq_length,
                                     .max_predictions = data.max_predictions,
                                     .next_sentence = data.next_sentence}));
}

std::uint64_t make_bert_examples(const Recipe& r, ExampleSet set) {
  const RecipePaths paths(r);
  const BertData data = data_of(r);
  const bool train = set == ExampleSet::train;
  data::BertExamplesJob job;
  job.text.input = train ? paths.train_text : paths.heldout_text;
  job.vocab = paths.vocab;
  job.output = train ? paths.train_output : paths.heldout_output;
  job.shards = train ? r.ready.shards : 1;
  job.order = data::parse_example_order(data.order);
  job.tokenizer = tokenizer_flags(r);
  job.overwrite = true;
  job.seed = data.seed;
  job.pairs = {.seq_length = data.seq_length,
               .max_predictions = data.max_predictions,
               .dupe_factor = train ? data.dupe_factor : 1,
               .masked_lm_prob = data.masked_lm_prob,
               .short_seq_prob = data.short_seq_prob,
               .whole_word_mask = data.whole_word_mask,
               .next_sentence = data.next_sentence};
  return data::build_bert_examples(job).examples;
}

model::Task task(const Recipe& r) {
  const BertData data = data_of(r);
  return model::bert_task({.model = resolved_model(r),
                           .seq_length = data.seq_length,
                           .max_predictions = data.max_predictions,
                           .next_sentence = data.next_sentence,
                           .majority_token = majority_token(
                               record_files(RecipePaths(r).train_records), vocabulary_of(r))});
}

std::string remark(const Recipe& r, const execution::Evaluation& e) {
  const model::MeasuredValue& right = e.measure("masked_lm_accuracy");
  std::ostringstream out;
  out << std::fixed << std::setprecision(1) << "masked tokens correct: " << 100 * right.value
      << " % of " << std::setprecision(0) << right.weight << " held-out tokens";
  const text::Vocabulary vocabulary = vocabulary_of(r);
  if (const auto token = majority_token(record_files(RecipePaths(r).train_records), vocabulary))
    out << "; always predicting '" << vocabulary.token(*token) << "': " << std::setprecision(1)
        << 100 * e.measure("majority_token_accuracy").value << " %";
  return out.str();
}

// Returns a rough range of accuracies by model width. Actual results vary with language and
// vocabulary.
std::string typical(const Recipe& r) {
  const std::int64_t width = model_of(r).hidden_size;
  const std::string share = width >= 1024  ? "65 to 75 %"
                            : width >= 768 ? "60 to 70 %"
                            : width >= 256 ? "40 to 60 %"
                                           : "20 to 40 %";
  return str("typical for a hidden size of ", width, ", trained to the end on ",
             width >= 768   ? "gigabytes"
             : width >= 256 ? "hundreds of megabytes"
                            : "some megabytes",
             " of text: ", share, " of masked tokens correct; fewer with less text");
}

execution::FillMaskJob fill_stored_bert(const checkpoint::StoredModel& m) {
  if (!m.tensors.contains("cls/predictions/output_bias"))
    throw UsageError(str("fill: ", m.named(), " has no masked-language-model head"), kMaskedLmHint);
  const model::BertConfig model = model::parse_bert_config(m.config.dump(), m.where);
  execution::FillMaskJob job;
  job.guesses = [model](std::int64_t S, std::int64_t P, std::int64_t top) {
    return model::bert_mask_guesses(model, S, P, top);
  };
  job.scores = [model](std::int64_t S, std::int64_t P) {
    return model::word_scores(model::bert_encoder(model), S, P);
  };
  job.max_tokens = model.max_position_embeddings;
  job.vocab_size = model.vocab_size;
  return job;
}

// Evaluates without next sentence prediction, because plain text has no sentence pairs.
EvaluateTextJob score_stored_bert(const checkpoint::StoredModel& m) {
  if (!m.tensors.contains("cls/predictions/output_bias"))
    throw UsageError(str("eval: ", m.named(), " has no masked-language-model head"), kMaskedLmHint);
  const model::BertConfig model = model::parse_bert_config(m.config.dump(), m.where);
  const auto masks = [](std::int64_t S) { return (kMaskedLmShare * S + 99) / 100; };
  EvaluateTextJob job{.max_tokens = model.max_position_embeddings, .make_examples = {}, .task = {}};
  job.make_examples = [masks](const data::ExampleJob& common, const text::TokenizerFlags& tokenizer,
                              std::int64_t S) {
    data::BertExamplesJob examples;
    static_cast<data::ExampleJob&>(examples) = common;
    examples.tokenizer = tokenizer;
    examples.pairs = {.seq_length = S,
                      .max_predictions = masks(S),
                      .dupe_factor = 1,
                      .masked_lm_prob = kMaskedLmShare / 100.0,
                      .next_sentence = false};
    const data::BuildSummary made = data::build_bert_examples(examples);
    return data::ExampleSummary{.text = made.text, .examples = made.examples, .counts = {}};
  };
  job.task = [model, masks](std::int64_t S, const std::string& records,
                            const text::Vocabulary& words) {
    return model::bert_task({.model = model,
                             .seq_length = S,
                             .max_predictions = masks(S),
                             .next_sentence = false,
                             .has_pooler = false,
                             .majority_token = majority_token({records}, words)});
  };
  return job;
}

model::Teacher bert_of_words(const Recipe&, const checkpoint::StoredModel& m,
                             model::FrozenModel held) {
  if (checkpoint::model_type_of(m.tensors) != kBertType || m.config.is_null() ||
      !m.tensors.contains("cls/predictions/output_bias"))
    throw UsageError(str(held.where, " has no masked-LM head"),
                     "use a pre-trained BERT with its masked-LM head");
  return model::bert_teacher(model::parse_bert_config(m.config.dump(), m.where), std::move(held));
}

void export_folder(const Recipe& r, const std::string& folder) {
  const RecipePaths paths(r);
  const Json config = io::config_json(resolved_model(r));
  const checkpoint::Checkpoint checkpoint = checkpoint::parameters_of(
      execution::load_trained_model("export", paths.trained, config, paths.vocab, r.eval.averaged)
          .checkpoint);
  checkpoint::HuggingFaceBert bert;
  bert.config = config;
  bert.parameters = checkpoint.tensors;
  bert.vocab_txt = text::vocabulary_bytes(paths.vocab);
  bert.tokenizer = text::tokenizer_options(paths.vocab, tokenizer_flags(r));
  checkpoint::export_hugging_face(folder, bert,
                                  folder == paths.hugging_face
                                      ? io::OutputDirectory::Earlier::replaced
                                      : io::OutputDirectory::Earlier::refused);
  log_info("export: {} contains step {} for transformers' BertForPreTraining", folder,
           checkpoint.step);
}

}  // namespace

ObjectiveType bert_objective() {
  ObjectiveType type;
  type.name = kBertType;
  type.help = "masked tokens and next sentences (Devlin et al. 2019)";
  type.model = io::config_fields<model::BertConfig>();
  type.data = io::config_fields<BertData>();
  type.check = check;
  type.preset = [](const FieldValues& set) {
    return sizes_of_pretrained(set, [](const std::string& init) {
      const model::Encoder encoder = encoder_in(init, "train.init_from");
      return model::encoder_name(encoder) == kBertType ? model::encoder_config_json(encoder)
                                                       : Json::object();
    });
  };
  type.sizes_of_weights = [](const std::string& weights, const std::string& where) {
    return model::encoder_config_json(encoder_in(weights, where));
  };
  type.make_examples = make_bert_examples;
  type.task = task;
  type.teacher = bert_of_words;
  type.record_report = bert_record_report();
  type.model_files = [](const Recipe& r) {
    return std::map<std::string, std::string>{
        {"bert_config.json", io::config_json(resolved_model(r)).dump(2) + "\n"}};
  };
  type.remark = remark;
  type.typical = typical;
  type.inference = {.fill_mask = fill_stored_bert, .evaluate_text = score_stored_bert};
  type.baseline = {.measure = "masked_lm_accuracy",
                   .of = "majority_token_accuracy",
                   .meaning = "always the most frequent token"};
  type.shards = true;
  type.export_folder = export_folder;
  return type;
}

}  // namespace smelt::pipeline
