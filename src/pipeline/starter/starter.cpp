#include "pipeline/starter/starter.h"

#include <algorithm>

#include "base/error.h"
#include "base/json.h"
#include "base/nearest_name.h"
#include "base/number_format.h"

namespace smelt::pipeline {
namespace {

std::string yaml_line(const std::string& name, const std::string& value,
                      const std::string& comment) {
  std::string line = str(name, ": ", value);
  constexpr std::size_t kColumn = 32;
  if (comment.empty()) return line + "\n";
  line.resize(std::max(line.size() + 2, kColumn), ' ');
  return str(line, "# ", comment, "\n");
}

// Returns the text in double quotes, in JSON syntax, which YAML accepts.
std::string quoted_text(const std::string& text) { return Json(text).dump(); }

std::string length_fields(const StarterRecipe& s, const char* passes) {
  if (s.steps)
    return yaml_line("  steps", str(*s.steps), "smelt advise chose it; epochs counts passes");
  if (s.budget)
    return yaml_line(
        "  budget",
        str("{usd: ", significant(*s.budget, 6), ", type: ", s.type.empty() ? "v3-8" : s.type, "}"),
        "cost limit in US dollars, which sets the steps once");
  return passes;
}

std::string learning_rate_field(const char* rate, const char* comment) {
  return yaml_line("  optimizer", str("{learning_rate: ", rate, "}"), comment);
}

std::string warmup_field(const char* ratio, const char* comment) {
  return yaml_line("  schedule", str("{warmup_ratio: ", ratio, "}"), comment);
}

// Returns the line of eval.every. If the number of steps is known, there are at least ten
// evaluations.
std::string eval_every_field(const StarterRecipe& s) {
  constexpr std::int64_t kLeastEvaluations = 10;
  const std::int64_t most =
      s.steps ? std::max<std::int64_t>(1, *s.steps / kLeastEvaluations) : kStarterEvalEvery;
  return yaml_line("  every", str(std::min(kStarterEvalEvery, most)), "steps between evaluations");
}

std::string device_fields(const StarterRecipe& s) {
  return yaml_line("  device", s.device, "cpu, gpu, tpu, or auto") +
         (s.devices > 1 ? yaml_line("  devices", str(s.devices), "that share a batch") : "") +
         yaml_line("  batch_size", str(s.batch_size), "examples per step, over all devices") +
         (s.precision.empty() ? ""
                              : yaml_line("  precision", str("{compute: ", s.precision, "}"), ""));
}

std::string starter_head(const StarterRecipe& s, const std::string& what, const std::string& out) {
  return str("# ", what,
             "\n#   smelt run FILE --small     a small trial run on this machine, takes minutes\n",
             "#   smelt run FILE --dry-run   what the run needs\n#   smelt run FILE\n",
             "# `smelt help recipe` lists all fields.\n",
             yaml_line("out", quoted_text(s.out.empty() ? out : s.out), "output folder"));
}

std::string text_fields(const StarterRecipe& s) {
  return str("text:\n",
             yaml_line("  input", quoted_text(s.input),
                       "files or patterns; .gz, .bz2, .zst, JSONL, TSV, CSV too"),
             s.text && s.text->has_sentence_lines
                 ? yaml_line("  sentences", "lines",
                             "a sentence a line, empty lines between texts; prose: paragraphs")
                 : yaml_line("  sentences", "prose",
                             "paragraphs; lines: a sentence a line, empty lines between texts"));
}

// Returns the line of vocab.size. `otherwise` is the size to use if the text is unknown.
std::string vocabulary_size_field(const StarterRecipe& s, std::int64_t otherwise) {
  const VocabularySize size =
      s.text ? suitable_vocabulary(*s.text)
             : VocabularySize{otherwise, "8000 for some MB of text, 30000 from 100 MB on"};
  return yaml_line("  size", str(size.pieces), size.reason);
}

std::string packing_field() {
  return yaml_line("  packing", "auto", "short examples share rows if that saves time");
}

std::string wordpiece_fields(const StarterRecipe& s) {
  return str(
      "vocab:\n",
      yaml_line("  type", "auto", "wordpiece; bpe for Chinese and Japanese; unigram for Thai, ..."),
      vocabulary_size_field(s, s.size.hidden >= 512 ? 30000 : 8000),
      yaml_line("  lower_case", "false", "true: the model sees no capitals"));
}

std::string encoder_fields(const StarterRecipe& s) {
  return yaml_line("  hidden_size", str(s.size.hidden), str("this is size ", s.size.name)) +
         yaml_line("  num_hidden_layers", str(s.size.layers), "") +
         yaml_line("  num_attention_heads", str(s.size.heads), "") +
         yaml_line("  intermediate_size", str(4 * s.size.hidden), "");
}

// The examples contain the text 5 times (data.dupe_factor), so 8 epochs over the examples are 40
// epochs over the text, as in the BERT paper.
constexpr const char* kEightPasses =
    "  epochs: 8                     # over the examples: 40 over the text "
    "(data.dupe_factor 5)\n";

std::string bert_text(const StarterRecipe& s) {
  return starter_head(s, "A BERT from your own text.", "my-bert") + text_fields(s) +
         wordpiece_fields(s) + "data:\n" + yaml_line("  seq_length", "128", "tokens per example") +
         yaml_line("  max_predictions", "20", "masked tokens per example") + "model:\n" +
         yaml_line("  type", "bert", "") + encoder_fields(s) +
         yaml_line("  type_vocab_size", "2", "") + "train:\n" + length_fields(s, kEightPasses) +
         packing_field() +
         learning_rate_field(s.size.hidden >= 768 ? "1e-4" : "5e-4",
                             "the BERT paper's is 1e-4 for base") +
         warmup_field("0.01", "1 % of the steps, as the paper's") + device_fields(s) + "eval:\n" +
         eval_every_field(s);
}

std::string electra_text(const StarterRecipe& s) {
  return starter_head(s, "An ELECTRA from your own text: needs less computing than a BERT.",
                      "my-electra") +
         text_fields(s) + wordpiece_fields(s) + "data:\n" +
         yaml_line("  seq_length", "128", "tokens per example") + "model:\n" +
         yaml_line("  type", "electra", "") + encoder_fields(s) + "train:\n" +
         length_fields(s, "  epochs: 40                    # passes over the text\n") +
         packing_field() +
         learning_rate_field(s.size.hidden >= 768 ? "2e-4" : "5e-4",
                             "the ELECTRA paper's: 5e-4 small, 2e-4 base and large") +
         yaml_line("  schedule", "{type: electra, warmup_ratio: 0.01}",
                   "the original's decay; 1 % warm-up") +
         device_fields(s) + "eval:\n" + eval_every_field(s);
}

// Returns the line of train.init_from. If no model is given, uses the example `folder` and adds a
// comment on how to download `model`.
std::string init_field(const StarterRecipe& s, const char* folder, const char* model) {
  const char* comment = "a folder of the pre-trained model";
  if (!s.init.empty()) return yaml_line("  init_from", quoted_text(s.init), comment);
  return str("  # smelt hub download ", model, " --output ", folder, "\n",
             yaml_line("  init_from", folder, comment));
}

// Returns the section vocab with a vocabulary of this type.
std::string vocabulary_fields(const StarterRecipe& s, const char* type, const char* comment) {
  return "vocab:\n" + yaml_line("  type", type, comment) +
         vocabulary_size_field(s, s.size.hidden >= 512 ? 30000 : 8000);
}

// A recipe that pre-trains an encoder of a family, from scratch or from pretrained weights.
struct FamilyStarter {
  const char *title, *out;
  const char* type;       // model.type
  const char* init_type;  // model.type to continue from a Hugging Face folder
  const char *vocabulary, *vocabulary_comment;
  std::string sizes;  // lines of the section model
  std::string optimizer, optimizer_comment;
  std::string schedule;
};

std::string family_text(const StarterRecipe& s, const FamilyStarter& f) {
  const bool fresh = s.init.empty();
  std::string out = starter_head(s, fresh ? f.title : "Continued pre-training on your own text.",
                                 fresh ? f.out : "my-continued") +
                    text_fields(s);
  if (fresh) out += vocabulary_fields(s, f.vocabulary, f.vocabulary_comment);
  out += str(
      "data:\n", yaml_line("  seq_length", str(s.seq_length), "tokens per example"), "model:\n",
      fresh ? yaml_line("  type", f.type, "") + f.sizes
            : yaml_line("  type", f.init_type, "its sizes and vocabulary are those of the weights"),
      "train:\n");
  if (!fresh) out += init_field(s, "", "");
  out += length_fields(s, fresh ? "  epochs: 40                    # passes over the text\n"
                                : "  epochs: 3                     # passes over the text\n");
  if (fresh)
    out += yaml_line("  optimizer", f.optimizer, f.optimizer_comment) +
           yaml_line("  schedule", f.schedule, "or 300M tokens, 1000 steps");
  else
    out += learning_rate_field("5e-5", "lower than in pre-training") +
           warmup_field("0.1", "share of the steps");
  return out + packing_field() + device_fields(s) + "eval:\n" + eval_every_field(s);
}

bool is_narrow(const StarterRecipe& s) { return s.size.hidden < 512; }

std::string roberta_text(const StarterRecipe& s) {
  return family_text(
      s, {.title = "A RoBERTa from your own text: a BERT with new masks in each step.",
          .out = "my-roberta",
          .type = "roberta",
          .init_type = "roberta",
          .vocabulary = "byte_bpe",
          .vocabulary_comment = "as RoBERTa's: bytes, so that no text is unknown",
          .sizes = encoder_fields(s),
          .optimizer =
              str("{learning_rate: ", s.size.hidden >= 768 ? "1e-4" : "5e-4", ", beta2: 0.98}"),
          .optimizer_comment = "the paper's 6e-4 is for batches of 8000",
          .schedule = "{type: linear, warmup: 5 %}"});
}

// ModernBERT's base and large models have more layers than BERT's.
std::string modernbert_fields(const StarterRecipe& s) {
  const int hidden = s.size.hidden;
  const int layers = hidden == 768 ? 22 : hidden == 1024 ? 28 : s.size.layers;
  return yaml_line("  hidden_size", str(hidden), str("this is size ", s.size.name)) +
         yaml_line("  num_hidden_layers", str(layers), "every third attends to all tokens") +
         yaml_line("  num_attention_heads", str(s.size.heads), "") +
         yaml_line("  intermediate_size", str(hidden == 1024 ? 2624 : hidden * 3 / 2), "") +
         yaml_line("  global_rope_theta", "10000", "160000 for more than 1024 tokens") +
         (is_narrow(s) ? yaml_line("  initializer_range", "0.05", "0.02 is for wide models") : "");
}

std::string modernbert_text(const StarterRecipe& s) {
  return family_text(s,
                     {.title = "A ModernBERT from your own text: faster than a BERT on long texts.",
                      .out = "my-modernbert",
                      .type = "modernbert",
                      .init_type = "modernbert",
                      .vocabulary = "byte_bpe",
                      .vocabulary_comment = "as ModernBERT's: bytes, so that no text is unknown",
                      .sizes = modernbert_fields(s),
                      .optimizer = str("{type: stable_adamw, learning_rate: ",
                                       s.size.hidden >= 768 ? "3e-4" : "1e-3", ", beta2: 0.98}"),
                      .optimizer_comment = "the paper's: 8e-4 for 4608",
                      .schedule = "{type: wsd, warmup: 2 %, decay: 15 %, decay_type: sqrt}"});
}

std::string deberta_text(const StarterRecipe& s) {
  return family_text(
      s, {.title = "A DeBERTa-v3 from your own text, for fine-tuning: detects replaced tokens.",
          .out = "my-deberta",
          .type = "deberta_rtd",
          .init_type = "deberta",
          .vocabulary = "unigram",
          .vocabulary_comment = "as DeBERTa-v3's",
          .sizes = encoder_fields(s),
          .optimizer =
              str("{learning_rate: ", s.size.hidden >= 768 ? "2e-4" : "5e-4", ", beta2: 0.98}"),
          .optimizer_comment = "the paper's 6e-4 is for batches of 8192",
          .schedule = "{type: linear, warmup: 2 %}"});
}

std::string t5_text(const StarterRecipe& s) {
  return starter_head(s, "A T5 from your own text, for tasks that write text.", "my-t5") +
         text_fields(s) + "vocab:\n" + yaml_line("  type", "unigram", "SentencePiece, as T5's") +
         vocabulary_size_field(s, 8000) + "data:\n" +
         yaml_line("  inputs_length", "256", "tokens that the encoder reads") + "model:\n" +
         yaml_line("  type", "t5", "sizes are those of T5-small") + "train:\n" +
         length_fields(s, "  epochs: 40                    # passes over the text\n") +
         yaml_line("  optimizer", "{type: adafactor, learning_rate: 0.01}",
                   "the T5 paper's, with its schedule") +
         yaml_line("  schedule", "{type: inverse_sqrt, warmup_steps: 10000}",
                   "rate 1 / sqrt(max(step, warmup_steps))") +
         device_fields(s) + "eval:\n" + eval_every_field(s);
}

std::string tuning_fields(const StarterRecipe& s) {
  return "train:\n" + init_field(s, "bert-base", "google-bert/bert-base-multilingual-cased") +
         yaml_line("  epochs", "3", "passes over the rows; 2 to 4 are usual") +
         learning_rate_field("3e-5", "1e-5 to 5e-5 for base models") +
         warmup_field("0.1", "share of the steps") + device_fields(s);
}

std::string classify_text(const StarterRecipe& s) {
  return starter_head(s, "Text classification with a pre-trained BERT, ModernBERT or ELECTRA.",
                      "my-classifier") +
         "data:\n" + yaml_line("  train", quoted_text(s.input), "JSONL, TSV, CSV or Parquet") +
         yaml_line("  text", "text", "column of the text") +
         yaml_line("  label", "label", "column of its class") +
         yaml_line("  validation_share", "0.1",
                   "of the rows, for evaluation; or validation: FILE") +
         yaml_line("  seq_length", str(s.seq_length), "tokens; longer texts are truncated") +
         "model:\n" + yaml_line("  type", "classify", "") +
         yaml_line("  problem", "single_label",
                   "multi_label, regression, rerank, token_labels, answer_spans") +
         tuning_fields(s) +
         yaml_line("  class_weights", quoted_text(""), "balanced: rare classes count more") +
         "eval:\n" + yaml_line("  every_epochs", "1", "");
}

std::string entities_text(const StarterRecipe& s) {
  return starter_head(s, "Entities (names, places, …) found in texts: a class for each word.",
                      "my-entities") +
         "data:\n" +
         yaml_line("  train", quoted_text(s.input),
                   "CoNLL, or JSONL with lists of words and labels") +
         yaml_line("  validation_share", "0.1",
                   "of the texts, for evaluation; or validation: FILE") +
         yaml_line("  seq_length", str(s.seq_length), "tokens; longer texts are truncated") +
         "model:\n" + yaml_line("  type", "classify", "") +
         yaml_line("  problem", "token_labels", "") + tuning_fields(s) + "eval:\n" +
         yaml_line("  every_epochs", "1", "");
}

std::string text_to_text_text(const StarterRecipe& s) {
  return starter_head(s, "A T5 that answers texts with texts: summaries, translations, questions.",
                      "my-answers") +
         "data:\n" + yaml_line("  train", quoted_text(s.input), "JSONL, TSV, CSV or Parquet") +
         yaml_line("  source", "source", "column of the text") +
         yaml_line("  target", "target", "column of the answer") +
         yaml_line("  inputs_length", "128", "tokens of a text") +
         yaml_line("  targets_length", "32", "tokens of an answer") + "model:\n" +
         yaml_line("  type", "text_to_text", "") + "train:\n" +
         init_field(s, "t5-small", "google-t5/t5-small") +
         yaml_line("  epochs", "3", "passes over the rows") +
         yaml_line("  optimizer", "{type: adamw, learning_rate: 3e-4}", "1e-4 to 1e-3 for T5") +
         warmup_field("0.1", "share of the steps") + device_fields(s) + "eval:\n" +
         yaml_line("  every_epochs", "1", "");
}

std::string embedding_text(const StarterRecipe& s) {
  return starter_head(s,
                      "Embeddings for semantic search, from pairs of texts that belong together.",
                      "my-embeddings") +
         "data:\n" +
         yaml_line("  train", quoted_text(s.input),
                   "JSONL, TSV, CSV or Parquet with the columns anchor, positive") +
         yaml_line("  validation_share", "0.1",
                   "of the rows, for evaluation; or validation: FILE") +
         yaml_line("  seq_length", str(s.seq_length), "tokens; longer texts are truncated") +
         "model:\n" + yaml_line("  type", "embedding", "") +
         yaml_line("  loss", "ranking", "cosent: rows have sentence1, sentence2, score") +
         "train:\n" + init_field(s, "bert-base", "google-bert/bert-base-multilingual-cased") +
         yaml_line("  epochs", "1", "passes over the rows") +
         learning_rate_field("2e-5", "1e-5 to 5e-5 for base models") +
         warmup_field("0.1", "share of the steps") + device_fields(s) + "eval:\n" +
         yaml_line("  every_epochs", "0.5", "");
}

std::string continue_text(const StarterRecipe& s) {
  return starter_head(s, "Continued pre-training of a BERT on your own text.", "my-continued") +
         text_fields(s) + "data:\n" + yaml_line("  seq_length", "128", "tokens per example") +
         yaml_line("  max_predictions", "20", "masked tokens per example") + "model:\n" +
         yaml_line("  type", "bert", "sizes and vocabulary are those of the initial model") +
         "train:\n" + init_field(s, "bert-base", "google-bert/bert-base-multilingual-cased") +
         length_fields(s,
                       "  epochs: 1                     # over the examples: 5 over the text "
                       "(data.dupe_factor 5)\n") +
         learning_rate_field("2e-5", "") + warmup_field("0.1", "share of the steps") +
         device_fields(s) + "eval:\n" + yaml_line("  every", "500", "steps between evaluations");
}

using MakeText = std::string (*)(const StarterRecipe&);
struct Starter {
  StarterKind kind;
  MakeText text;
};
const std::vector<Starter>& starters() {
  static const std::vector<Starter> kKinds{
      {{"bert", "a BERT from your own text"}, bert_text},
      {{"electra", "an ELECTRA from your own text"}, electra_text},
      {{"roberta", "a RoBERTa from your own text, or from --init"}, roberta_text},
      {{"modernbert", "a ModernBERT from your own text, or from --init"}, modernbert_text},
      {{"deberta", "a DeBERTa-v3 from your own text, or a DeBERTa from --init"}, deberta_text},
      {{"t5", "a T5 from your own text"}, t5_text},
      {{"continue", "continued pre-training of a BERT on your own text"}, continue_text},
      {{"classify", "text classification with a pre-trained BERT, ModernBERT or ELECTRA"},
       classify_text},
      {{"embedding", "embeddings for semantic search, from pairs of texts"}, embedding_text},
      {{"entities", "a class for each word: names, places"}, entities_text},
      {{"text_to_text", "text generation from texts with a pre-trained T5"}, text_to_text_text}};
  return kKinds;
}

}  // namespace

const std::vector<ModelSize>& model_sizes() {
  static const std::vector<ModelSize> kSizes{{"tiny", 128, 2, 2},
                                             {"mini", 256, 4, 4},
                                             {"medium", 512, 8, 8},
                                             {"base", 768, 12, 12},
                                             {"large", 1024, 24, 16}};
  return kSizes;
}

const ModelSize& model_size(const std::string& name, const std::string& where) {
  std::vector<std::string> names;
  for (const ModelSize& size : model_sizes()) {
    if (size.name == name) return size;
    names.push_back(size.name);
  }
  throw UsageError(str(where, ": '", name, "' is not a known model size"),
                   did_you_mean(name, names));
}

const std::vector<StarterKind>& starter_kinds() {
  static const std::vector<StarterKind> kNames = [] {
    std::vector<StarterKind> out;
    for (const Starter& kind : starters()) out.push_back(kind.kind);
    return out;
  }();
  return kNames;
}

std::string starter_text(const StarterRecipe& recipe) {
  std::vector<std::string> names;
  for (const Starter& kind : starters()) {
    if (kind.kind.name == recipe.kind) return kind.text(recipe);
    names.push_back(kind.kind.name);
  }
  throw UsageError(str("new: '", recipe.kind, "' is not a known kind of recipe"),
                   did_you_mean(recipe.kind, names));
}

}  // namespace smelt::pipeline
