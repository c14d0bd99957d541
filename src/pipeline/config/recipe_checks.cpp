#include "pipeline/config/recipe_checks.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/nearest_name.h"
#include "cost_model/accelerator.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"
#include "io/hub/hub_path.h"
#include "model/optim/nm_pattern.h"
#include "pipeline/config/objective_type.h"
#include "pipeline/config/optimizer_checks.h"
#include "text/readers/documents.h"
#include "text/tokenizers/language.h"
#include "text/tokenizers/tokenizer_json.h"
#include "text/tokenizers/wordpiece_trainer.h"

namespace smelt::pipeline {

bool is_sentencepiece(const Recipe& r) {
  const std::string& file = r.vocab.file;
  const bool says_type = file.empty() || text::is_tokenizer_json(file);
  if (!says_type) return file.ends_with(".model");
  return r.type->sentencepiece && r.vocab.type != "wordpiece";
}

const Json& RecipeChecks::value(const std::string& field) const {
  const std::size_t dot = field.find('.');
  return recipe_.sections.at(field.substr(0, dot)).at(field.substr(dot + 1));
}

void RecipeChecks::require(bool fine, std::initializer_list<std::string> fields,
                           const std::string& what, const std::string& hint) const {
  if (!fine) throw UsageError(str(recipe_.origin(fields), ": ", what), hint);
}

void RecipeChecks::at_least(const std::string& field, std::int64_t least) const {
  const std::int64_t found = value(field);
  require(found >= least, {field}, str(field, " is ", found, ", must be at least ", least),
          str("set ", field, " to ", least, " or more"));
}

void RecipeChecks::within(const std::string& field, double low, double high, Ends ends) const {
  const double found = value(field);
  const bool fine =
      ends == Ends::with ? found >= low && found <= high : found > low && found < high;
  const std::string range = std::isinf(high)     ? str("a finite number from ", low, " on")
                            : ends == Ends::with ? str("from ", low, " to ", high)
                                                 : str("above ", low, " and below ", high);
  require(fine && std::isfinite(found), {field}, str(field, " is ", found, ", must be ", range),
          str("`smelt help recipe` describes ", field));
}

void RecipeChecks::one_of(const std::string& field, const std::vector<std::string>& known) const {
  const std::string found = value(field);
  require(std::ranges::find(known, found) != known.end(), {field}, str(field, " is '", found, "'"),
          did_you_mean(found, known));
}

void RecipeChecks::is_not_replaced(const std::string& steps, const std::string& counted) const {
  const double replaces = value(counted);
  require(replaces == 0 || !recipe_.is_set(steps) || recipe_.origins.at(steps) != "--set",
          {steps, counted},
          str(steps, " is ignored, because ", counted, " is ", replaces, " and replaces it"),
          str("also give --set ", counted, "=0, or change ", counted, " instead"));
}

bool has_no_validation(const Recipe& r) {
  return r.type->reads == Reads::rows && r.ready.records.empty() &&
         r.data.value("validation", "").empty() && r.data.value("validation_share", 1.0) == 0;
}

void check_validation_share(const Recipe& r) {
  const double share = r.data.value("validation_share", 0.0);
  RecipeChecks(r).require(
      share >= 0 && share < 1, {"data.validation_share"},
      str("data.validation_share is ", share, ", must be at least 0 and below 1"),
      "0.1 holds out a tenth of the rows; 0 trains on all of them");
}

void RecipeChecks::accepts(std::initializer_list<std::string> fields,
                           const std::function<void()>& check) const {
  try {
    check();
  } catch (const UsageError& error) {
    throw UsageError(str(recipe_.origin(fields), ": ", error.what()));
  }
}

void RecipeChecks::fits_positions(std::int64_t seq_length, std::int64_t positions) const {
  const std::string shorter = str("--set data.seq_length=", positions);
  require(seq_length <= positions, {"data.seq_length", "model.max_position_embeddings"},
          str("data.seq_length ", seq_length, " is longer than model.max_position_embeddings ",
              positions),
          recipe_.train.init_from.empty()
              ? str("add ", shorter, ", or raise model.max_position_embeddings")
              : str("add ", shorter, ": the model of train.init_from has no more positions"));
}

void RecipeChecks::divides_over_devices(const std::string& field, std::int64_t parts) const {
  const train::TrainConfig& t = recipe_.train;
  const std::int64_t rows = value(field);
  const std::int64_t devices = model::partition_for(t.mesh, t.devices).row_shards();
  require(rows % devices == 0, {field, "train.devices"},
          str(field, " ", rows, " does not divide over ",
              devices == t.devices ? "train.devices " : "the data and fsdp axes, ", devices),
          str("choose a multiple of ", devices));
  require(rows / devices % parts == 0, {field, "train.gradient_accumulation_steps"},
          str(field, " ", rows, ", ", rows / devices,
              " a device, does not divide into train.gradient_accumulation_steps ", parts),
          str("choose a number of micro-batches that divides ", rows / devices));
}

static void check_spread(const RecipeChecks& checks, const train::TrainConfig& t) {
  checks.accepts({"train.parallelism.mesh", "train.devices"},
                 [&] { (void)model::partition_for({.mesh = t.mesh.mesh}, t.devices); });
  checks.accepts({"train.parallelism.rules"},
                 [&] { (void)model::partition_for(t.mesh, t.devices); });
  checks.accepts({"train.parallelism.reduction", "train.parallelism.mesh"}, [&] {
    (void)model::placement_for(t.device, t.devices, t.reduction,
                               model::partition_for(t.mesh, t.devices));
  });
  checks.accepts({"train.memory.remat_policy", "train.memory.layers"},
                 [&] { (void)model::compute_for(t.device, *t.compute); });
  checks.divides_over_devices("train.batch_size", t.gradient_accumulation_steps);
  checks.divides_over_devices("eval.batch_size");
}

static void check_steadiness(const RecipeChecks& checks, const train::TrainConfig& t) {
  const double decay = t.ema_decay;
  checks.require(decay >= 0 && decay < 1, {"train.ema_decay"},
                 str("train.ema_decay is ", decay, ", must be at least 0 and below 1"),
                 "use 0.999 or 0.9999");
  checks.at_least("train.loss_spike.window", 2);
  checks.within("train.loss_spike.sigmas", 0);
  checks.at_least("train.loss_spike.skip_batches", 0);
  checks.require(
      t.loss_spike.skip_batches == 0 || t.loss_spike.action == model::SpikeAction::rewind,
      {"train.loss_spike.skip_batches", "train.loss_spike.action"},
      str("train.loss_spike.skip_batches is set, but train.loss_spike.action ",
          word_of(t.loss_spike.action, model::kSpikeActions), " does not use it"),
      "set train.loss_spike.action to rewind, or remove train.loss_spike.skip_batches");
}

static void check_training(const RecipeChecks& checks, const train::TrainConfig& train) {
  for (const char* field :
       {"train.devices", "train.batch_size", "train.steps", "train.checkpoint.save_interval_steps",
        "train.logging_steps", "train.checkpoint.max_to_keep", "eval.batch_size"})
    checks.at_least(field, 1);
  checks.at_least("train.gradient_accumulation_steps", 1);
  checks.at_least("train.memory.attention_rows", 0);
  checks.at_least("train.memory.logits_mb", 0);
  checks.at_least("eval.steps", 0);
  checks.at_least("eval.passes", 1);
  checks.at_least("eval.every", 0);
  checks.within("train.checkpoint.save_interval_minutes", 0);
  checks.at_least("train.checkpoint.keep_period", 0);
  checks.within("eval.every_epochs", 0);
  checks.within("train.schedule.warmup_ratio", 0, 1);
  checks.is_not_replaced("train.schedule.warmup_steps", "train.schedule.warmup_ratio");
  checks.is_not_replaced("train.schedule.decay_steps", "train.schedule.decay_ratio");
  checks.is_not_replaced("eval.every", "eval.every_epochs");
  checks.at_least("train.early_stopping.patience", 0);
  checks.require(
      train.early_stopping.patience == 0 || !train.checkpoint.best_metric.empty(),
      {"train.early_stopping.patience", "train.checkpoint.best_metric"},
      "train.early_stopping.patience needs train.checkpoint.best_metric, the metric to monitor",
      "set it with --set train.checkpoint.best_metric=…");
  checks.require(train.optimizer.layer_decay > 0 && train.optimizer.layer_decay <= 1,
                 {"train.optimizer.layer_decay"},
                 str("train.optimizer.layer_decay is ", train.optimizer.layer_decay,
                     ", must be above 0, at most 1"),
                 "use 0.8 as ELECTRA does, or 1 for the same rate in all layers");
  check_optimizer(checks, train);
  check_steadiness(checks, train);
  checks.one_of("train.device", {"auto", "cpu", "gpu", "tpu"});
  check_spread(checks, train);
}

static void check_vocabulary(const RecipeChecks& checks, const Recipe& r) {
  for (const char* field : {"vocab.size", "vocab.min_frequency"}) checks.at_least(field, 1);
  for (const char* field : {"vocab.unused", "vocab.alphabet"}) checks.at_least(field, 0);
  checks.within("vocab.coverage", 0.5, 1);
  checks.accepts({"vocab.language"},
                 [&] { (void)text::has_turkic_case(r.vocab.language, "vocab.language"); });
  const auto special = std::ssize(text::first_tokens({}));
  checks.require(
      !r.type->reads_text() || !r.vocab.file.empty() || r.vocab.size - special > r.vocab.unused,
      {"vocab.size", "vocab.unused"},
      str("vocab.size ", r.vocab.size, " is too small for ", special, " special and ",
          r.vocab.unused, " unused tokens"),
      "raise it: 30000 is common, a few thousand for small texts");
  checks.one_of("vocab.strip_accents", {"auto", "true", "false"});
  checks.one_of("vocab.type", {"auto", "wordpiece", "unigram", "bpe", "byte_bpe"});
  checks.one_of("vocab.normalization", {"auto", "nmt_nfkc", "nfkc", "nfc", "identity"});
  checks.require(
      !is_sentencepiece(r) || r.type->sentencepiece, {"vocab.file"},
      str("vocab.file is ", r.vocab.file, ", a SentencePiece model, which a model of type ",
          r.type->name, " cannot use"),
      "remove it and set vocab.type to unigram or bpe: the vocabulary is then a tokenizer.json "
      "with the special tokens of the model");
  checks.require(!r.type->sentencepiece || r.vocab.type != "byte_bpe", {"vocab.type"},
                 str("vocab.type is byte_bpe, which a model of type ", r.type->name, " cannot use"),
                 "set vocab.type to unigram or bpe");
  checks.require(!is_sentencepiece(r) || r.track.fill.empty() || r.type->sampler,
                 {"track.fill", "vocab.type"},
                 "track.fill: a SentencePiece vocabulary has no [MASK] token", "remove it");
}

static void check_ready(const RecipeChecks& checks, const Recipe& r) {
  checks.at_least("data.shards", 1);
  checks.require(r.ready.shards == 1 || r.type->shards, {"data.shards"},
                 str("data.shards is ", r.ready.shards, ", but model.type ", r.type->name,
                     " writes a single file"),
                 "remove it");
  const bool ready = !r.ready.records.empty();
  checks.require(ready || r.ready.heldout.empty(), {"data.heldout"},
                 "data.heldout needs data.records",
                 "set both; for examples made from text, use text.heldout");
  checks.require(
      !ready || !r.type->has_vocabulary() || !r.vocab.file.empty() || !r.train.init_from.empty(),
      {"data.records"},
      "data.records needs vocab.file, the vocabulary that the records were made with",
      "set it with --set vocab.file=…");
  checks.require(!ready || !r.ready.heldout.empty() || r.eval.every == 0,
                 {"eval.every", "data.records"},
                 str("eval.every is ", r.eval.every, ", but data.heldout is empty"),
                 "set data.heldout, or set eval.every to 0");
}

static void check_evaluation(const RecipeChecks& checks, const Recipe& r) {
  checks.require(
      !has_no_validation(r) || (r.eval.every == 0 && r.eval.every_epochs == 0),
      {"data.validation_share", "eval.every", "eval.every_epochs"},
      "data.validation_share is 0, but eval.every or eval.every_epochs needs held-out examples",
      "set data.validation, or set eval.every and eval.every_epochs to 0");
  checks.one_of("eval.split", {"validation", "test"});
  checks.require(r.eval.split != "test" || !r.data.value("test", std::string()).empty(),
                 {"eval.split"}, "eval.split is test, but data.test is not set",
                 "set data.test, if model.type supports it");
  checks.require(!r.eval.best || !r.train.checkpoint.best_metric.empty(),
                 {"eval.best", "train.checkpoint.best_metric"},
                 "eval.best needs train.checkpoint.best_metric, which selects the best checkpoint",
                 "set it with --set train.checkpoint.best_metric=…");
  checks.require(
      r.train.checkpoint.best_metric.empty() || r.eval.every > 0 || r.eval.every_epochs > 0,
      {"train.checkpoint.best_metric", "eval.every"},
      str("train.checkpoint.best_metric is ", r.train.checkpoint.best_metric,
          ", but eval.every is 0"),
      "set eval.every to the steps between evaluations");
}

// Checks that `field`, which prunes during training, fits the model's type and other settings.
static void check_pruned_run(const RecipeChecks& checks, const Recipe& r, const char* field) {
  checks.require(r.type->write_rows != nullptr, {field},
                 str(field, ": a model of type ", r.type->name, " cannot be pruned"),
                 "remove it; only model.type classify and text_to_text support it");
  checks.require(r.train.ema_decay == 0 && !r.eval.best, {field, "train.ema_decay", "eval.best"},
                 str(field,
                     " cannot be used with train.ema_decay or eval.best: moving averages and the "
                     "best checkpoint may have fewer zeros than the newest weights"),
                 "set train.ema_decay to 0 and eval.best to false");
}

// Checks train.pruning.
static void check_pruning(const RecipeChecks& checks, const Recipe& r) {
  const train::TrainConfig& t = r.train;
  const bool by_share = t.pruning.sparsity != 0, by_pattern = !t.pruning.nm.empty(),
             softly = t.pruning.method == model::PruneBy::soft;
  checks.require(
      t.pruning.sparsity >= 0 && t.pruning.sparsity < 1, {"train.pruning.sparsity"},
      str("train.pruning.sparsity is ", t.pruning.sparsity, ", must be at least 0 and below 1"),
      "use 0.9 to keep a tenth of the weights, or 0 for no pruning");
  if (by_pattern)
    checks.accepts({"train.pruning.nm"},
                   [&] { model::parse_nm(t.pruning.nm, "train.pruning.nm"); });
  checks.require(!by_share || !by_pattern, {"train.pruning.sparsity", "train.pruning.nm"},
                 "train.pruning.sparsity and train.pruning.nm are both set, but a pattern "
                 "determines the sparsity",
                 "set only one of them");
  checks.within("train.pruning.penalty", 0);
  checks.within("train.pruning.score_learning_rate", 0);
  checks.require(!softly || (!by_share && !by_pattern),
                 {"train.pruning.method", "train.pruning.sparsity", "train.pruning.nm"},
                 "train.pruning.method soft cannot be used with train.pruning.sparsity or "
                 "train.pruning.nm: train.pruning.penalty determines the sparsity",
                 "remove them");
  checks.require(by_share || softly || t.pruning.method == model::PruneBy::magnitude,
                 {"train.pruning.method", "train.pruning.sparsity"},
                 str("train.pruning.method is ", word_of(t.pruning.method, model::kPruningMethods),
                     ", but train.pruning.sparsity is not set"),
                 "set train.pruning.sparsity; train.pruning.nm needs method magnitude");
  const char* const field = by_pattern ? "train.pruning.nm"
                            : softly   ? "train.pruning.method"
                                       : "train.pruning.sparsity";
  if (by_share || by_pattern || softly) check_pruned_run(checks, r, field);
  checks.require((!by_share && !softly) || t.early_stopping.patience == 0,
                 {field, "train.early_stopping.patience"},
                 str(field,
                     " cannot be used with train.early_stopping.patience: metrics get worse while "
                     "weights are pruned, so the run would stop too early"),
                 "set train.early_stopping.patience to 0");
}

// Checks train.pruning and train.fake_quant.
static void check_shrinking(const RecipeChecks& checks, const Recipe& r) {
  check_pruning(checks, r);
  checks.require(!r.train.fake_quant || r.type->write_rows, {"train.fake_quant"},
                 str("train.fake_quant: a model of type ", r.type->name, " cannot be quantized"),
                 "remove it; only model.type classify and text_to_text support it");
}

static void check_length_of_run(const RecipeChecks& checks, const Recipe& r) {
  for (const char* field : {"train.epochs", "train.budget.usd"}) checks.within(field, 0);
  const train::TrainConfig& t = r.train;
  checks.is_not_replaced("train.steps", "train.epochs");
  checks.require(t.budget.usd == 0 || t.epochs == 0, {"train.budget.usd", "train.epochs"},
                 "train.budget.usd and train.epochs are both set, but each determines train.steps",
                 "set only one of them");
  checks.accepts({"train.budget.type"}, [&] {
    const auto types = cost_model::find_accelerators("train.budget.type", t.budget.type);
    if (types.size() != 1)
      throw UsageError("train.budget.type names several types", "name one, such as v3-8");
  });
  checks.require(r.type->weighs_classes || (t.class_weights.empty() && t.label_smoothing == 0),
                 {"train.class_weights", "train.label_smoothing"},
                 str("a model of type ", r.type->name,
                     " has no classes for train.class_weights and train.label_smoothing"),
                 "remove them; only model.type classify supports them");
}

static void check_text(const RecipeChecks& checks, const Recipe& r) {
  checks.require(r.text.max_bad >= 0 && r.text.max_bad <= 1, {"text.max_bad"},
                 str("text.max_bad is ", r.text.max_bad, ", must be from 0 to 1"),
                 "use 0.01 to skip at most one row in a hundred");
  checks.require(r.text.heldout > 0 && r.text.heldout <= 0.5, {"text.heldout"},
                 str("text.heldout is ", r.text.heldout, ", must be above 0 and at most 0.5"),
                 "use 0.05");
  const auto named = [&](const char* field) { return str(r.origin({field}), ": ", field); };
  (void)text::parse_file_format(r.text.format, named("text.format"));
  (void)text::parse_sentences(r.text.sentences, named("text.sentences"));
  (void)text::parse_dedup(r.text.dedup, named("text.dedup"));
  (void)text::parse_normalization(r.text.normalize, named("text.normalize"));
  checks.at_least("text.max_lines", 0);
}

void check_sections(const Recipe& r) {
  const RecipeChecks checks(r);
  check_length_of_run(checks, r);
  check_evaluation(checks, r);
  checks.require(!r.out.empty(), {"out"}, "out is empty", "name a folder");
  checks.require(
      r.out.find_first_of(",*?[") == std::string::npos, {"out"},
      str("out is '", r.out, "': must not contain a comma, *, ? or [, which form a file pattern"),
      "name a folder without them");
  checks.require(!io::is_hub_path(r.out), {"out"},
                 str("out is '", r.out, "', but smelt does not write to hf:// paths"),
                 "name a folder, and publish the model with smelt hub push FOLDER ORG/NAME");
  checks.require(io::is_remote(r.out) || !io::exists(r.out) || io::is_folder(r.out), {"out"},
                 str("out is '", r.out, "', which is a file, not a folder"), "name a folder");
  check_text(checks, r);
  check_vocabulary(checks, r);
  check_ready(checks, r);
  check_training(checks, r.train);
  check_shrinking(checks, r);
  checks.within("train.hang_minutes", 0);
  checks.require(r.train.checkpoint.keep_period % r.train.checkpoint.save_interval_steps == 0,
                 {"train.checkpoint.keep_period", "train.checkpoint.save_interval_steps"},
                 str("train.checkpoint.keep_period ", r.train.checkpoint.keep_period,
                     " is not a multiple of train.checkpoint.save_interval_steps ",
                     r.train.checkpoint.save_interval_steps),
                 "choose a multiple, or 0 for none");
  checks.at_least("track.histograms_every", 0);
  checks.require(!r.track.gradients || r.track.histograms_every > 0,
                 {"track.gradients", "track.histograms_every"},
                 "track.gradients is true, but track.histograms_every is 0",
                 "set track.histograms_every to the steps between two histograms");
  checks.require(
      r.track.fill.empty() || r.type->sampler || r.type->inference.fill_mask, {"track.fill"},
      str("track.fill: a model of type ", r.type->name, " cannot fill masks"), "remove it");
  checks.require(r.track.fill.empty() || r.eval.every > 0, {"track.fill", "eval.every"},
                 "track.fill needs evaluations during training, but eval.every is 0",
                 "set eval.every");
}

}  // namespace smelt::pipeline
