// The fields of a recipe's own sections (io/formats/config.h).
#pragma once

#include <concepts>
#include <type_traits>

#include "pipeline/config/recipe.h"

namespace smelt::pipeline {

template <class Config, class Section>
concept SectionOf = std::same_as<std::remove_const_t<Config>, Section>;

template <SectionOf<TextSection> C, class Visitor>
void visit_fields(C& c, Visitor&& visit) {
  visit("input", c.input,
        "raw text: files or patterns, comma separated; .gz, .bz2 and .zst are unpacked");
  visit("format", c.format,
        "file format: text, jsonl, tsv, tsv-quoted, csv or parquet; auto: from the name of each "
        "file");
  visit("field", c.field, "field or column that contains the text (JSONL, TSV, CSV, Parquet)");
  visit("sentences", c.sentences,
        "prose: paragraphs, which are split into sentences; lines: one sentence a line and an "
        "empty line after each document");
  visit("dedup", c.dedup,
        "duplicates to remove: none; lines: repeated lines (in prose: paragraphs); exact: "
        "identical documents; near: near-duplicate documents");
  visit("normalize", c.normalize,
        "Unicode normalization: nfc, so that a word has the same code points in every file, or "
        "none to leave the text unchanged");
  visit("max_lines", c.max_lines, "maximum number of lines (rows) to read; 0: all");
  visit("heldout", c.heldout,
        "share of documents held out for evaluation, above 0 and at most 0.5");
  visit("max_bad", c.max_bad,
        "maximum share of unreadable rows (JSONL, TSV, CSV, Parquet), which are skipped; 100 rows "
        "are always allowed, unless it is 0");
  visit("strict", c.strict,
        "stop at the first unreadable row, and at text that is not UTF-8 or contains NUL bytes, "
        "instead of logging a warning");
}

template <SectionOf<VocabSection> C, class Visitor>
void visit_fields(C& c, Visitor&& visit) {
  visit("file", c.file,
        "existing vocabulary (vocab.txt or tokenizer.json) to use instead of one made from the "
        "text; empty with train.init_from: the vocabulary in the folder of the weights");
  visit("type", c.type,
        "wordpiece (vocab.txt); unigram, bpe or byte_bpe (tokenizer.json; for model.type "
        "jestimator_bert and t5 a SentencePiece model, unigram or bpe); auto: bpe for "
        "Chinese and Japanese, unigram for other scripts without spaces between words, such as "
        "Thai, else wordpiece, as tokenizer.json");
  visit("size", c.size, "number of pieces in the vocabulary");
  visit("unused", c.unused,
        "number of [unusedN] pieces, which are reserved for new words (`smelt vocab extend`); part "
        "of vocab.size");
  visit("lower_case", c.lower_case,
        "lower-case the text; if unset, an existing vocabulary (vocab.file, train.init_from) keeps "
        "its own setting");
  visit("strip_accents", c.strip_accents,
        "strip accents (in most languages they are vowels or separate letters); auto: the value of "
        "vocab.lower_case; if unset, an existing vocabulary keeps its own setting");
  visit("language", c.language,
        "language tag for lower-casing, with vocab.lower_case; tr and az lower-case I to ı and İ "
        "to i");
  visit("split_chinese", c.split_chinese,
        "WordPiece: treat each Chinese character as a word (transformers' tokenize_chinese_chars); "
        "false for text whose words are already separated by spaces, as by MeCab");
  visit("segment_command", c.segment_command,
        "word segmentation command, such as 'mecab -Owakati': reads lines from standard input and "
        "writes each with spaces between words, unbuffered; used for all text and stored with the "
        "vocabulary; none: the text is already split into words");
  visit("normalization", c.normalization,
        "SentencePiece models: Unicode normalization of the text: nmt_nfkc (as T5), nfkc, nfc or "
        "identity; auto: nfc for Chinese, Japanese, Thai and other text without spaces between "
        "words (it keeps their punctuation), else nmt_nfkc");
  visit("byte_fallback", c.byte_fallback,
        "SentencePiece models: encode characters without a piece as their UTF-8 bytes instead of "
        "<unk>; the 256 byte pieces are part of vocab.size");
  visit("min_frequency", c.min_frequency,
        "minimum number of occurrences of a pair of pieces that is merged to a new piece");
  visit("coverage", c.coverage,
        "share of the text's characters to keep in the vocabulary; wordpiece applies it only if "
        "the characters would take more than a third of the pieces, as in Chinese");
  visit("alphabet", c.alphabet,
        "wordpiece: maximum number of distinct characters in the vocabulary; 0: no limit");
}

template <SectionOf<ReadySection> C, class Visitor>
void visit_fields(C& c, Visitor&& visit) {
  visit("records", c.records,
        "existing examples (TFRecord files or token stores) to train on, instead of examples made "
        "from the text: files or patterns, comma separated; requires vocab.file, the vocabulary "
        "that they were made with");
  visit("heldout", c.heldout,
        "with data.records: existing examples to evaluate on; empty: no evaluation");
  visit("shards", c.shards, "number of files to write the training examples to");
}

template <SectionOf<EvalSection> C, class Visitor>
void visit_fields(C& c, Visitor&& visit) {
  visit("batch_size", c.batch_size, "examples per evaluation batch, over all devices");
  visit("steps", c.steps, "number of batches per evaluation; 0 = all held-out examples");
  visit("passes", c.passes,
        "times to evaluate each batch with different random masks, if the model draws the masks; "
        "JEstimator uses 20");
  visit("every", c.every,
        "training steps between evaluations during training; the metrics are logged and written to "
        "model/train for TensorBoard; 0: no evaluation during training");
  visit("every_epochs", c.every_epochs,
        "passes over the training examples between evaluations during training; above 0 it sets "
        "eval.every");
  visit("averaged", c.averaged,
        "use the moving averages of the weights (train.ema_decay) for evaluation, fill, detect and "
        "export");
  visit("best", c.best,
        "use the checkpoint with the best train.checkpoint.best_metric, instead of the newest, for "
        "evaluation, export and inference");
  visit("split", c.split,
        "examples to evaluate on: validation, or test, the examples of data.test");
}

template <SectionOf<CompressSection> C, class Visitor>
void visit_fields(C& c, Visitor&& visit) {
  visit("layers", c.layers, "number of layers to keep, spread evenly over the model; 0: all");
  visit("decoder_layers", c.decoder_layers,
        "number of a T5's decoder layers to keep, spread evenly; 0: all");
  visit("ffn", c.ffn,
        "share of the neurons of each feed-forward layer to keep: those with the largest effect on "
        "the loss over data.train");
  visit("heads", c.heads,
        "share of the heads of each attention layer to keep: those with the largest effect on the "
        "loss over data.train");
  visit("macs", c.macs,
        "maximum share of the layers' multiply-accumulate operations to keep; replaces "
        "compress.ffn and compress.heads");
  visit("rescale", c.rescale,
        "rescale the remaining neurons and heads to compensate for the pruned ones");
  visit("tune_epochs", c.tune_epochs,
        "passes over the training examples to distill the original model into the pruned one; 0: "
        "no training after pruning");
  visit("examples", c.examples, "maximum number of rows used to choose neurons and heads");
  visit("int8", c.int8,
        "quantize the weights to int8 after pruning: a smaller folder, not a faster model");
  visit("activations", c.activations,
        "with compress.int8, how the inputs of matmuls are quantized: floats (not at all), dynamic "
        "(int8, with one scale per token) or static (int8, with one scale for all tokens, "
        "calibrated on rows of data.train); dynamic and static multiply integers");
  visit("calibration", c.calibration,
        "with static activations, how the largest input of a matmul is estimated: minmax, "
        "percentile, entropy or mse");
  visit("embeddings", c.embeddings, "also quantize the embedding tables to int8");
  visit("max_drop", c.max_drop,
        "maximum loss of score by quantization to int8, in points; if it would be exceeded, the "
        "matrices with the largest error stay floats; below 0: no limit");
  visit("batches", c.batches, "batch sizes whose latency the report measures");
  visit("lengths", c.lengths, "sequence lengths, in tokens, whose latency the report measures");
  visit("rounds", c.rounds,
        "rounds of latency measurements in the report; each model runs once per round, for each "
        "batch size and length");
}

template <SectionOf<TrackSection> C, class Visitor>
void visit_fields(C& c, Visitor&& visit) {
  visit("fill", c.fill,
        "texts with [MASK], separated by |, whose masks the model fills at each evaluation during "
        "training; a T5 fills each mask with one or more words");
  visit("histograms_every", c.histograms_every,
        "steps between histograms of weights and updates for TensorBoard; 0: none");
  visit("gradients", c.gradients,
        "also write histograms of the gradients that the optimizer receives, which compiles a "
        "second program");
}

template <SectionOf<DistillSection> C, class Visitor>
void visit_fields(C& c, Visitor&& visit) {
  visit(
      "teacher", c.teacher,
      "teacher model for knowledge distillation, of any size: a run's folder, or a Hugging Face "
      "folder with the same task and vocabulary (docs/guides/distill.md); empty: no distillation");
  using Base =
      std::conditional_t<std::is_const_v<C>, const model::Distillation, model::Distillation>;
  model::visit_fields(static_cast<Base&>(c), visit);
}

}  // namespace smelt::pipeline
