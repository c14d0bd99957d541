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
        "train.init_from: the one that lies beside the weights");
  visit(
      "type", c.type,
      "wordpiece (vocab.txt); unigram, bpe or byte_bpe (tokenizer.json; a SentencePiece model, "
      "unigram or bpe, for model.type jestimator_bert and t5); auto: unigram for text in scripts "
      "without spaces between words, such as Chinese and Thai, else wordpiece, as tokenizer.json");
  visit("size", c.size, "pieces");
  visit("unused", c.unused, "of them [unusedN], for words to come (`smelt vocab extend`)");
  visit("lower_case", c.lower_case,
        "lower-case the text; if unset, an existing vocabulary (vocab.file, train.init_from) keeps "
        "its "
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
        "evaluation, export and what asks the model take the checkpoint that "
        "train.checkpoint.best_metric keeps "
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
