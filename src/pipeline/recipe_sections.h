// The fields of a recipe's own sections (io/formats/config.h).
#pragma once

#include <concepts>
#include <type_traits>

#include "pipeline/recipe.h"

namespace smelt {

template <class Config, class Section>
concept SectionOf = std::same_as<std::remove_const_t<Config>, Section>;

template <SectionOf<TextSection> C, class Visitor>
void visit_fields(C& c, Visitor&& visit) {
  visit("input", c.input,
        "raw text: files or patterns, comma separated; .gz, .bz2 and .zst are unpacked");
  visit("format", c.format,
        "text, jsonl, tsv, tsv-quoted, csv or parquet; auto goes by each file's name");
  visit("field", c.field, "where the text is in JSONL, TSV, CSV and Parquet");
  visit("sentences", c.sentences,
        "prose: paragraphs to cut into sentences; lines: a sentence a line, an empty line after a "
        "document");
  visit("dedup", c.dedup,
        "what to leave out: none, lines (in prose: paragraphs) that stood before, exact or near "
        "duplicates of documents");
  visit("normalize", c.normalize,
        "Unicode normalization: nfc, so that a word has the same code points in every file, or "
        "none to leave the text unchanged");
  visit("max_lines", c.max_lines, "read only so many lines (rows); 0: all");
  visit("heldout", c.heldout, "share of documents kept for evaluation, above 0, at most 0.5");
  visit("max_bad", c.max_bad,
        "share of the rows (of JSONL, TSV, CSV, Parquet) that may be left out because they cannot "
        "be read; a hundred always may, unless it is 0");
  visit("strict", c.strict,
        "refuse the first row that cannot be read, and text that is not UTF-8 or holds NUL bytes, "
        "instead of warning");
}

template <SectionOf<VocabSection> C, class Visitor>
void visit_fields(C& c, Visitor&& visit) {
  visit("file", c.file,
        "a vocabulary that is there (vocab.txt), instead of one made from the text; empty with "
        "train.init: the one that lies beside the weights");
  visit(
      "type", c.type,
      "wordpiece (vocab.txt); unigram, bpe or byte_bpe (tokenizer.json; a SentencePiece model, "
      "unigram or bpe, for model.type jestimator_bert and t5); auto: unigram for text in scripts "
      "without spaces between words, such as Chinese and Thai, else wordpiece, as tokenizer.json");
  visit("size", c.size, "pieces");
  visit("unused", c.unused, "of them [unusedN], for words to come (`smelt vocab extend`)");
  visit("lower_case", c.lower_case,
        "lower-case the text; if unset, an existing vocabulary (vocab.file, train.init) keeps its "
        "own setting");
  visit("strip_accents", c.strip_accents,
        "strip accents (in most languages they are vowels or separate letters); auto: the value of "
        "vocab.lower_case; if unset, an existing vocabulary keeps its own setting");
  visit("language", c.language,
        "with vocab.lower_case: a language tag; tr and az lower-case I to ı and İ to i");
  visit("split_chinese", c.split_chinese,
        "of word pieces: each Chinese character is a word (transformers' tokenize_chinese_chars); "
        "false for text whose words are separated by spaces already, as by MeCab");
  visit("segment_command", c.segment_command,
        "word segmentation command, such as 'mecab -Owakati': reads lines from standard input and "
        "writes each with spaces between words, unbuffered; used for all text and stored with the "
        "vocabulary; none: the text is already split into words");
  visit(
      "normalization", c.normalization,
      "SentencePiece models: normalization of text: nmt_nfkc (T5's), nfkc, nfc or identity; auto: "
      "nfc for Chinese, Japanese, Thai and other text without spaces between words (it keeps "
      "their punctuation), else nmt_nfkc");
  visit("byte_fallback", c.byte_fallback,
        "SentencePiece models: encode unknown characters as byte pieces instead of <unk>, which "
        "uses 256 pieces");
  visit("min_frequency", c.min_frequency, "occurrences below which a pair is not merged");
  visit("coverage", c.coverage,
        "share of the text's characters to keep in the vocabulary; wordpiece applies it only if "
        "the characters would take more than a third of the pieces, as in Chinese");
  visit("alphabet", c.alphabet,
        "wordpiece: maximum number of distinct characters in the vocabulary; 0: no limit");
}

template <SectionOf<ReadySection> C, class Visitor>
void visit_fields(C& c, Visitor&& visit) {
  visit("records", c.records,
        "examples that are there (TFRecord files, token stores), instead of ones made from the "
        "text: files or patterns, comma separated; wants their vocab.file");
  visit("heldout", c.heldout, "with data.records: examples to evaluate on; empty: no evaluation");
  visit("shards", c.shards, "files that the examples to train on are written to");
}

template <SectionOf<TrainSection> C, class Visitor>
void visit_schedule_fields(C& c, Visitor&& visit) {
  visit("learning_rate", c.learning_rate, "highest learning rate");
  visit("warmup_steps", c.warmup_steps, "steps of linear warm-up");
  visit("warmup_ratio", c.warmup_ratio,
        "share of all steps, which says train.warmup_steps then; 0: as train.warmup_steps says");
  visit(
      "schedule", c.schedule,
      "bert: linear decay after the warm-up; electra: the warm-up is a factor of it, too; "
      "jestimator: no decay, or one from the warm-up's end to decay_to_step; linear: decay from "
      "the warm-up's end; polynomial, constant, cosine; inverse_sqrt: T5's; wsd: warm-up, stable, "
      "decay over the last decay_steps");
  visit("warmup_form", c.warmup_form,
        "of polynomial, cosine and inverse_sqrt: precedes the decay; multiplies it, as ELECTRA's; "
        "replaces it, as BERT's; none; auto: precedes, but none with inverse_sqrt");
  visit("decay_power", c.decay_power, "of schedule polynomial: (1 - share done)^decay_power");
  visit("end_factor", c.end_factor,
        "of polynomial, cosine and wsd: share of learning_rate that is left at the end");
  visit("decay_to_step", c.decay_to_step,
        "step at which the rate of schedule jestimator is 0; 0 = no decay");
  visit("decay_steps", c.decay_steps, "last steps, over which schedule wsd decays");
  visit("decay_ratio", c.decay_ratio,
        "share of all steps, which says train.decay_steps then; 0: as train.decay_steps says");
  visit("decay_form", c.decay_form, "of schedule wsd: linear, or sqrt: 1 - sqrt(share done)");
}

// The optimizer, with what it makes of the gradient.
template <SectionOf<TrainSection> C, class Visitor>
void visit_optimizer_fields(C& c, Visitor&& visit) {
  visit("optimizer", c.optimizer,
        "bert_adamw (the original's, no bias correction), adamw, optax_adamw, optax_adam, lamb, "
        "amos, adafactor (T5X's) or hf_adafactor (transformers')");
  visit("momentum", c.momentum, "beta1 of Adam; of Amos' updates, where 0 saves a slot");
  visit("beta", c.beta, "of the mean of squared gradients: beta2 of Adam, beta of Amos");
  visit("weight_decay", c.weight_decay,
        "decoupled weight decay of the three adamw and of lamb; of adafactor decay_rules alone");
  visit("clip_norm", c.clip_norm,
        "largest global norm of the gradient; 0 = no clipping; auto: 1 with bert_adamw and adamw, "
        "else 0");
  visit("clip_value", c.clip_value,
        "largest element of the gradient; 0 = no clipping; auto: 1 with amos, else 0");
  visit("trust_norm", c.trust_norm,
        "lamb: a parameter's norm counts up to this in its trust ratio; 0 = no bound");
  visit("rate_rules", c.rate_rules,
        "factor of the learning rate by parameters' names, 0 = frozen: '.*/embeddings/.* = 0'");
  visit("layer_decay", c.layer_decay,
        "of model.type classify: each layer's rate is so many times that of the one above it, "
        "ELECTRA's 0.8; 1: all the same");
  visit("decay_rules", c.decay_rules,
        "weight decay by parameters' names, before the optimizer's own: '.*/kernel = 0.1'");
  visit("amos_preset", c.amos_preset,
        "rules of amos by parameters' names: bert, jestimator_bert, t5, none; auto: as model.type");
  visit("eta_rules", c.eta_rules,
        "amos: the scale to come to, before the preset's: '.*/kernel = sqrt(1 / SHAPE[0]); …'");
  visit("slot_rules", c.slot_rules,
        "amos: the shape of a parameter's slots: '.*/kernel = (1, SHAPE[1]); .* = ()'");
  visit("adafactor_clip", c.adafactor_clip,
        "both adafactor: largest root mean square of a parameter's update; 0 = no clipping");
  visit("adafactor_exponent", c.adafactor_exponent,
        "of the mean of squared gradients: step t, from 1, counts for t^-adafactor_exponent");
  visit("adafactor_momentum", c.adafactor_momentum,
        "momentum of its updates; 0 = none, and no slot as large as the parameters");
  visit("adafactor_scaled", c.adafactor_scaled,
        "the learning rate is times each parameter's own root mean square");
}

// What steadies a run.
template <SectionOf<TrainSection> C, class Visitor>
void visit_steadying_fields(C& c, Visitor&& visit) {
  visit("ema_decay", c.ema_decay,
        "keeps moving averages of the weights, average * ema_decay + weight * (1 - ema_decay), "
        "which eval.averaged takes; 0 = none");
  visit("spike_action", c.spike_action,
        "of a step whose loss is a spike: none; skip: its update is not applied; rewind: back to "
        "the last checkpoint and over the data up to it");
  visit("spike_window", c.spike_window, "losses before it that a loss is held to");
  visit("spike_sigmas", c.spike_sigmas,
        "a spike is so many of their standard deviations above their mean");
  visit("rewind_skip", c.rewind_skip,
        "batches that a rewind goes over; 0, or too few: those up to the spike");
  visit("hang_minutes", c.hang_minutes,
        "a step that has not ended after so many minutes ends the command; 0 = never");
}

// What a classifier's loss makes of its labels.
template <SectionOf<TrainSection> C, class Visitor>
void visit_label_fields(C& c, Visitor&& visit) {
  visit("class_weights", c.class_weights,
        "of classify: what the loss of each class counts: balanced (rare classes count more, as "
        "scikit-learn's), or numbers in the order of the classes: 1,2.5,1; empty: all the same");
  visit("label_smoothing", c.label_smoothing,
        "of classify: share of each label that is spread over all classes; 0.1 is usual, 0: none");
}

template <SectionOf<TrainSection> C, class Visitor>
void visit_saving_fields(C& c, Visitor&& visit) {
  visit("save_every", c.save_every, "steps between checkpoints");
  visit("save_minutes", c.save_minutes,
        "a checkpoint, too, when so many minutes have passed since the one before; 0: never");
  visit("keep", c.keep, "newest checkpoints kept");
  visit("keep_every", c.keep_every,
        "checkpoints of its multiples are kept for ever, in model/save; 0: none");
  visit("keep_best", c.keep_best,
        "a measure of the held-out examples (masked_lm_loss), whose best checkpoint is in "
        "model/best: of a loss the lowest, else the highest; wants eval.every; of text_to_text "
        "also exact_match or bleu of answers that are generated at each check; empty: none");
  visit(
      "patience", c.patience,
      "evaluations in a row without a new best, by train.keep_best, that end the run; 0: none do");
}

// Which weights become 0.
template <SectionOf<TrainSection> C, class Visitor>
void visit_pruning_fields(C& c, Visitor&& visit) {
  visit("sparsity", c.sparsity,
        "share of the weights of attention and feed-forward that becomes 0 from the warm-up's end "
        "over four fifths of the steps, the smallest first, and stays 0: a smaller file, not a "
        "faster model (docs/guides/compress.md); 0: none");
  visit("prune_by", c.prune_by,
        "magnitude: the smallest of these weights become 0; movement: those that learning takes "
        "towards 0 most; soft: those whose learned score falls, as many as these are");
  visit("prune_penalty", c.prune_penalty,
        "of soft: what scores are drawn down with; more: more weights become 0");
  visit("prune_rate", c.prune_rate, "of soft: the rate of the scores");
  visit("nm", c.nm,
        "2:4: before the first step all but 2 of each 4 neighbouring inputs of an output become 0, "
        "and stay 0, in the place of train.sparsity");
}

// How its program runs.
template <SectionOf<TrainSection> C, class Visitor>
void visit_form_fields(C& c, Visitor&& visit) {
  visit("reduction", c.reduction,
        "global: clip the gradient of all devices; per_replica: the original's order, clip then "
        "sum");
  visit("micro_batches", c.micro_batches,
        "parts of each device's share of a batch, one after another: less memory, same result");
  visit("precision", c.precision,
        "bf16 or f32, of activations and products; parameters are f32; f32_exact: products of all "
        "bits "
        "on a TPU or GPU, too");
  visit("layers", c.layers,
        "unrolled; scan: a loop, compile time does not grow with depth; auto: as device and steps "
        "want");
  visit("save", c.save,
        "what scanned layers keep for the backward pass: all (but attention scores on a TPU), "
        "products, layer (least memory); auto");
  visit("attention_rows", c.attention_rows,
        "most queries that attention takes at a time, in a loop: less memory for scores; 0: all");
  visit("logits_mb", c.logits_mb,
        "megabytes of scores of all words that a device makes at a time where it scores every "
        "token's, in a loop; 0: all");
  visit("fake_quant", c.fake_quant,
        "products within layers count as those of codes of eight bits will, which the model then "
        "has learned with (docs/guides/compress.md)");
  visit("mesh", c.mesh,
        "auto: all devices share the batch; data=2,fsdp=2,tensor=2: fsdp splits parameters, too, "
        "tensor splits heads, feed-forward layers and vocabulary");
  visit("mesh_rules", c.mesh_rules,
        "which mesh axis splits embed, heads, mlp, vocab where it is another: vocab=none");
  visit("split_slots", c.split_slots, "split what the optimizer keeps over the data axis, too");
}

template <SectionOf<TrainSection> C, class Visitor>
void visit_fields(C& c, Visitor&& visit) {
  visit("device", c.device, "cpu, gpu or tpu; auto: the TPU or GPU that is there, else the CPU");
  visit("devices", c.devices, "devices that share a batch");
  visit("batch_size", c.batch_size, "examples per step, over all devices");
  visit("steps", c.steps, "training steps in all");
  visit("epochs", c.epochs,
        "passes over the training examples; above 0 it sets train.steps. The examples of text hold "
        "it data.dupe_factor times");
  visit("tokens", c.tokens,
        "tokens to train on, padding counted; above 0 it sets train.steps: 3e9 for 3 billion");
  visit("budget.usd", c.budget_usd,
        "US dollars that the run may cost by `smelt plan`; above 0 it sets train.steps if that is "
        "not set, once: a run that goes on keeps its steps");
  visit("budget.type", c.budget_type, "of budget.usd: the accelerator type, by Google's names");
  visit("budget.spot", c.budget_spot, "of budget.usd: at the price of spot machines");
  visit_schedule_fields(c, visit);
  visit_optimizer_fields(c, visit);
  visit_label_fields(c, visit);
  visit_steadying_fields(c, visit);
  visit_form_fields(c, visit);
  visit_pruning_fields(c, visit);
  visit("seed", c.seed, "random seed of weights, dropout and data order");
  visit(
      "init", c.init,
      "weights that a new run begins with: a folder of smelt's checkpoints or Hugging Face's BERT "
      "or ELECTRA, or a TensorFlow checkpoint (…/bert_model.ckpt); empty: fresh ones");
  visit_saving_fields(c, visit);
  visit("log_every", c.log_every, "steps between log lines");
}

template <SectionOf<EvalSection> C, class Visitor>
void visit_fields(C& c, Visitor&& visit) {
  visit("batch_size", c.batch_size, "examples per evaluation batch, over all devices");
  visit("steps", c.steps, "evaluation batches; 0 = all held-out examples");
  visit("passes", c.passes,
        "times that each batch is scored, with other masks, where the model draws them; 20 is "
        "JEstimator's");
  visit("every", c.every,
        "training steps between evaluations of the state at hand, whose figures go to the log and, "
        "as TensorBoard's, to model/train; 0 = none while training");
  visit("every_epochs", c.every_epochs,
        "passes over the training examples between them, which say eval.every then; 0: as "
        "eval.every says");
  visit("averaged", c.averaged,
        "evaluation, fill, detect and export take the averages that train.ema_decay keeps");
  visit("best", c.best,
        "evaluation, export and what asks the model take the checkpoint that train.keep_best keeps "
        "instead of the newest");
  visit("split", c.split, "what is evaluated: validation, or test: the examples of data.test");
}

template <SectionOf<CompressSection> C, class Visitor>
void visit_fields(C& c, Visitor&& visit) {
  visit("layers", c.layers, "so many of the model's layers stay, spread evenly; 0: all");
  visit("decoder_layers", c.decoder_layers, "the same of a T5's decoder; 0: all");
  visit("ffn", c.ffn,
        "share of each feed-forward's neurons that stays: those that the loss of data.train's rows "
        "hangs on most");
  visit("heads", c.heads, "the same of attention's heads");
  visit("macs", c.macs,
        "in the place of both: share of the layers' multiplications that is left at most");
  visit("rescale", c.rescale,
        "neurons and heads that stay are rescaled, so that they make up for the others");
  visit(
      "tune_epochs", c.tune_epochs,
      "passes over the training examples in which what was cut learns to say what the model says; "
      "0: it stays as it was cut");
  visit("examples", c.examples, "rows that neurons and heads are chosen by, at most");
  visit("int8", c.int8, "then weights in eight bits: a smaller folder, not a faster model");
  visit(
      "activations", c.activations,
      "of int8: floats, dynamic or static: what comes to a product is rounded to eight bits, too, "
      "each token by its own scale or all by one of data.train's rows, and products are of "
      "integers");
  visit("calibration", c.calibration,
        "of static: what is taken for the largest of what comes to a product: minmax, percentile, "
        "entropy or mse");
  visit("embeddings", c.embeddings, "the tables in eight bits, too");
  visit("max_drop", c.max_drop,
        "points of the score that eight bits may lose: matrices that lose most stay floats; below "
        "0: any");
  visit("batches", c.batches, "of the report: texts at a time that are timed");
  visit("lengths", c.lengths, "of the report: tokens of each");
  visit("rounds", c.rounds, "of the report: in which each model has its turn, for each size");
}

template <SectionOf<TrackSection> C, class Visitor>
void visit_fields(C& c, Visitor&& visit) {
  visit(
      "fill", c.fill,
      "texts with [MASK], of a T5 for several words, that the model fills at each evaluation while "
      "it trains, with | between them");
  visit("histograms_every", c.histograms_every,
        "steps between histograms of weights and updates for TensorBoard; 0 = none");
  visit("gradients", c.gradients,
        "histograms of gradients, too, as the optimizer gets them; another program is compiled");
}

template <SectionOf<DistillSection> C, class Visitor>
void visit_fields(C& c, Visitor&& visit) {
  visit(
      "teacher", c.teacher,
      "a trained model that this one is also held to, as large as it may be: a run's folder or a "
      "Hugging Face folder of the same task and vocabulary (docs/guides/distill.md); empty: none");
  using Base = std::conditional_t<std::is_const_v<C>, const Distillation, Distillation>;
  visit_fields(static_cast<Base&>(c), visit);
}

}  // namespace smelt
