#include "cli/pipeline.h"

#include <spdlog/spdlog.h>

#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/progress.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/hugging_face.h"
#include "cli/stage.h"
#include "examples/bert_examples.h"
#include "store/file.h"
#include "store/folder.h"
#include "store/path.h"
#include "text/prose.h"
#include "tokenize/vocabulary_job.h"

namespace smelt {
namespace {

Vocabulary recipe_vocabulary(const Recipe& recipe) {
  return Vocabulary::load(RecipePaths(recipe.out).vocab);
}

TokenizerFlags tokenizer_flags(const Recipe& r) {
  TokenizerFlags flags{.lower_case = r.vocab.lower_case};
  if (r.vocab.strip_accents != "auto") flags.strip_accents = r.vocab.strip_accents == "true";
  return flags;
}

PretrainingConfig pretraining_config(const Recipe& r) {
  PretrainingConfig c;
  c.model = resolved_model(r);
  c.batch = {.batch_size = r.train.batch_size,
             .seq_length = r.data.seq_length,
             .max_predictions = r.data.max_predictions};
  c.schedule = {.learning_rate = r.train.learning_rate,
                .warmup_steps = r.train.warmup_steps,
                .total_steps = r.train.steps,
                .power = 1.0};
  c.optimizer.weight_decay = r.train.weight_decay;
  c.optimizer.bias_correction =
      r.train.optimizer == "adamw" ? BiasCorrection::on : BiasCorrection::off;
  c.clip_norm = r.train.clip_norm;
  c.reduction = r.train.reduction == "per_replica" ? Reduction::per_replica : Reduction::global;
  c.devices = r.train.devices;
  c.seed = static_cast<std::uint64_t>(r.train.seed);
  c.next_sentence = r.data.next_sentence;
  return c;
}

BertExamplesJob examples_job(const Recipe& r, const std::string& text, const std::string& records) {
  BertExamplesJob job;
  job.text.input = text;
  job.vocab = RecipePaths(r.out).vocab;
  job.output = records;
  job.order = parse_example_order(r.data.order);
  job.tokenizer = tokenizer_flags(r);
  job.overwrite = true;
  job.seed = r.data.seed;
  job.pairs = {.seq_length = r.data.seq_length,
               .max_predictions = r.data.max_predictions,
               .dupe_factor = r.data.dupe_factor,
               .masked_lm_prob = r.data.masked_lm_prob,
               .short_seq_prob = r.data.short_seq_prob,
               .whole_word_mask = r.data.whole_word_mask,
               .next_sentence = r.data.next_sentence};
  return job;
}

void print_evaluation(const Evaluation& e, std::ostream& out) {
  out << "global_step = " << e.global_step << "\nloss = " << e.loss
      << "\nmasked_lm_accuracy = " << e.masked_lm_accuracy
      << "\nmasked_lm_loss = " << e.masked_lm_loss << "\n";
  if (e.next_sentence)
    out << "next_sentence_accuracy = " << e.next_sentence->accuracy
        << "\nnext_sentence_loss = " << e.next_sentence->loss << "\n";
}

}  // namespace

RecipePaths::RecipePaths(const std::string& out)
    : train_text(join_path(out, "text/train.txt")),
      heldout_text(join_path(out, "text/heldout.txt")),
      vocab(join_path(out, "vocab.txt")),
      train_records(join_path(out, "data/train.tfrecord")),
      heldout_records(join_path(out, "data/heldout.tfrecord")),
      model_dir(join_path(out, "model")),
      config(join_path(out, "model/bert_config.json")),
      evaluation(join_path(out, "model/eval_results.txt")),
      hugging_face(join_path(out, "huggingface")) {}

BertConfig resolved_model(const Recipe& recipe) {
  BertConfig model = recipe.model;
  const std::int64_t lines = recipe_vocabulary(recipe).size();
  if (model.vocab_size == 0) model.vocab_size = lines;
  if (model.vocab_size < lines)
    throw UsageError(str("model.vocab_size ", model.vocab_size, " is smaller than the ", lines,
                         " lines of ", RecipePaths(recipe.out).vocab),
                     "set model.vocab_size to 0, which takes the vocabulary's size");
  return model;
}

void make_text(const Recipe& r) {
  const RecipePaths paths(r.out);
  ProseJob job;
  job.text = r.text.read;
  job.train_out = paths.train_text;
  job.heldout_out = paths.heldout_text;
  job.heldout = r.text.heldout;
  const ProseSummary s = prepare_prose(job);
  spdlog::info(
      "text: {} sentences in {} documents, {} of them held out, {} repeated paragraphs, lines or "
      "documents left out",
      s.sentences, s.documents, s.heldout_documents,
      s.read.duplicate_lines + s.read.duplicate_documents);
}

void make_vocabulary(const Recipe& r) {
  const RecipePaths paths(r.out);
  VocabularyJob job;
  job.text.input = paths.train_text;
  job.out = paths.vocab;
  job.trainer = {.vocab_size = r.vocab.size,
                 .min_frequency = r.vocab.min_frequency,
                 .alphabet_limit = r.vocab.alphabet,
                 .reserved = {}};
  job.unused = r.vocab.unused;
  job.tokenizer = options_of(tokenizer_flags(r));
  job.overwrite = true;
  const VocabularySummary s = train_vocabulary(job);
  spdlog::info("vocab: {} pieces from {} words ({} distinct)", s.size, s.words, s.distinct_words);
}

void make_examples(const Recipe& r) {
  const RecipePaths paths(r.out);
  const BuildSummary train =
      build_bert_examples(examples_job(r, paths.train_text, paths.train_records));
  BertExamplesJob heldout = examples_job(r, paths.heldout_text, paths.heldout_records);
  heldout.pairs.dupe_factor = 1;
  const BuildSummary kept = build_bert_examples(heldout);
  if (static_cast<std::int64_t>(kept.examples) < r.eval.batch_size)
    throw UsageError(str("data: ", kept.examples, " held-out examples, fewer than eval.batch_size ",
                         r.eval.batch_size),
                     "lower eval.batch_size, raise text.heldout or give more text");
  spdlog::info("data: {} examples to train on, {} held out", train.examples, kept.examples);
}

PretrainSummary train_model(const Recipe& r) {
  const RecipePaths paths(r.out);
  PretrainJob job;
  job.config = pretraining_config(r);
  job.device = r.train.device;
  job.data = paths.train_records;
  job.vocab = paths.vocab;
  job.model_dir = paths.model_dir;
  job.save_every = r.train.save_every;
  job.keep = r.train.keep;
  job.log_every = r.train.log_every;
  write_file(paths.config, bert_config_json(job.config.model).dump(2) + "\n");
  const PretrainSummary s = pretrain(job);
  spdlog::info(
      "train: {} steps in {} ({:.1f} sequences/s of {} tokens, padding counted), compiled in "
      "{:.1f} s",
      s.last_step - s.first_step, duration_text(s.train_seconds), s.sequences_per_second,
      r.data.seq_length, s.compile_seconds);
  return s;
}

Evaluation evaluate_model(const Recipe& r) {
  const RecipePaths paths(r.out);
  EvaluateJob job;
  job.config = pretraining_config(r);
  job.config.batch.batch_size = r.eval.batch_size;
  job.device = r.train.device;
  job.data = paths.heldout_records;
  job.train_data = paths.train_records;
  job.model_dir = paths.model_dir;
  job.steps = r.eval.steps;
  const Evaluation e = evaluate(job);
  std::ostringstream text;
  print_evaluation(e, text);
  write_file(paths.evaluation, text.str());
  std::cout << "***** Eval results *****\n"
            << text.str() << std::fixed << std::setprecision(1)
            << "masked tokens right: " << 100 * e.masked_lm_accuracy << " % of " << e.masked_tokens
            << " held-out ones; always answering '" << recipe_vocabulary(r).token(e.majority_token)
            << "': " << 100 * e.majority_token_accuracy << " %\n"
            << std::defaultfloat << std::setprecision(6);
  return e;
}

std::vector<FilledText> fill_with_model(const Recipe& r, const std::vector<std::string>& texts,
                                        std::int64_t top) {
  const RecipePaths paths(r.out);
  const BertTokenizer tokenizer = BertTokenizer::load(paths.vocab, tokenizer_flags(r));
  FillMaskJob job;
  job.model = resolved_model(r);
  job.device = r.train.device;
  job.model_dir = paths.model_dir;
  job.top = top;
  return fill_masks(job, tokenizer, texts);
}

void export_model(const Recipe& r, const std::string& folder) {
  const RecipePaths paths(r.out);
  const auto checkpoint = load_latest_checkpoint(paths.model_dir);
  if (!checkpoint)
    throw UsageError(str("export: no checkpoint in ", paths.model_dir), "train first");
  if (folder == paths.hugging_face) remove_tree(folder);
  HuggingFaceBert bert;
  bert.config = bert_config_json(resolved_model(r));
  bert.parameters = checkpoint->tensors;
  bert.vocab_txt = read_file(paths.vocab);
  bert.tokenizer = load_tokenizer_config(paths.vocab).value_or(options_of(tokenizer_flags(r)));
  export_hugging_face(folder, bert);
  spdlog::info("export: {} holds step {} for transformers' BertForPreTraining", folder,
               checkpoint->step);
}

void run_recipe(const Recipe& r) {
  if (r.text.read.input.empty())
    throw UsageError("text.input: no text", "give files or patterns with --set text.input=…");
  const std::vector<std::string> inputs = expand_patterns(r.text.read.input, "text.input");
  claim_output_folder(r.out);
  const RecipePaths p(r.out);
  const auto section = [&](const char* name) { return recipe_section(r, name); };
  const std::vector<std::string> texts{p.train_text, p.heldout_text};
  run_stage(r.out, {"text", section("text"), inputs, texts, [&] { make_text(r); }});
  run_stage(r.out,
            {"vocab", section("vocab"), {p.train_text}, {p.vocab}, [&] { make_vocabulary(r); }});
  std::vector<std::string> sources = texts;
  sources.push_back(p.vocab);
  const std::vector<std::string> records{p.train_records, p.heldout_records};
  run_stage(r.out, {"data", {section("data"), section("vocab")}, sources, records, [&] {
                      make_examples(r);
                    }});
  const nlohmann::json training{section("model"), section("train"), section("data")};
  run_stage(r.out, {"train", training, {p.train_records}, {p.model_dir}, [&] { train_model(r); }});
  run_stage(r.out, {"eval", {training, section("eval")}, records, {p.evaluation}, [&] {
                      evaluate_model(r);
                    }});
  run_stage(r.out, {"export", training, {p.train_records, p.vocab}, {p.hugging_face}, [&] {
                      export_model(r, p.hugging_face);
                    }});
}

}  // namespace smelt
