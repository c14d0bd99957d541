// The fields of a recipe of model.type classify.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "io/formats/labels.h"
#include "pipeline/recipe.h"
#include "text/readers/rows.h"
#include "text/tokenizers/answer_windows.h"

namespace smelt {

struct ClassifyModel {
  std::string like;
  Problem problem = Problem::single_label;
  double dropout = 0.1;
};

template <class C, class Visitor>
  requires std::same_as<std::remove_const_t<C>, ClassifyModel>
void visit_fields(C& c, Visitor&& visit) {
  visit(
      "like", c.like,
      "a folder of a BERT or ELECTRA whose sizes the encoder has; empty: that of train.init_from");
  visit("problem", c.problem,
        "single_label: one of several classes; multi_label: any of them, with commas between "
        "or as a JSON list; "
        "regression: a number; token_labels: a class for each word, in its order; answer_spans: "
        "where a text answers a question");
  visit("dropout", c.dropout, "dropout of what the head is given");
}

struct ClassifyData {
  std::string train, validation, test;
  std::string format = "auto", text, pair, label, labels;
  Header header = Header::names;
  bool both_orders = false;
  std::string glue, glue_folder = "glue_data";
  std::int64_t seq_length = 128;
  std::string lengths = "auto";
  bool no_answer = false;
  std::int64_t question_tokens = AnswerLimits().question_tokens,
               doc_stride = AnswerLimits().doc_stride, answer_tokens = AnswerLimits().answer_tokens;
  double validation_share = 0.1;
  std::int64_t seed = 12345;
  double max_bad = 0.01;
};

// What stands where in the rows.
template <class C, class Visitor>
  requires std::same_as<std::remove_const_t<C>, ClassifyData>
void visit_row_fields(C& c, Visitor&& visit) {
  visit("text", c.text,
        "column of the text, of token_labels its words, with spaces between or as an array, of "
        "answer_spans the question; empty: text, or question");
  visit("pair", c.pair,
        "column of a second text, of answer_spans the one that is asked; empty: none, or context");
  visit("label", c.label,
        "column of the label, of answer_spans its answers; empty: label, or answers");
  visit("labels", c.labels,
        "the classes' names in their order, with commas between or as a JSON list; empty: those of "
        "data.train, sorted");
  visit("header", c.header,
        "first line of a TSV or CSV: names of its columns; none: a row as the others, skipped: "
        "passed over; in both columns are numbers, from 1 or from the last, -1");
  visit("both_orders", c.both_orders,
        "train on each pair a second time, its second text first: where their order says nothing");
  visit(
      "glue", c.glue,
      "a task of GLUE (cola, sst, mrpc, qqp, sts, mnli, qnli, rte, wnli): its files and what they "
      "hold, for fields of data: and model.problem that are not set");
  visit("glue_folder", c.glue_folder,
        "of data.glue: the folder of the task's files, or of all tasks' folders");
}

template <class C, class Visitor>
  requires std::same_as<std::remove_const_t<C>, ClassifyData>
void visit_fields(C& c, Visitor&& visit) {
  visit("train", c.train,
        "labelled texts to train on: files or patterns of JSONL, TSV, CSV, Parquet or, of "
        "token_labels, CoNLL or, of answer_spans, SQuAD's JSON, comma separated; or a command that "
        "prints JSONL, '!./my_dataset.py train'");
  visit("validation", c.validation,
        "those to evaluate on; empty: data.validation_share of data.train is held out");
  visit("test", c.test, "those of eval.split test; empty: none");
  visit("format", c.format,
        "jsonl, tsv, tsv-quoted, csv, parquet, conll or squad; auto goes by each file's name");
  visit_row_fields(c, visit);
  visit("seq_length", c.seq_length, "tokens per example; longer texts are cut");
  visit(
      "lengths", c.lengths,
      "lengths that training's batches may have, so that those of short texts hold little padding: "
      "32,64 and seq_length; auto: a few by the examples' own lengths; one: seq_length alone");
  visit("no_answer", c.no_answer,
        "of answer_spans: whether a question may have no answer, as SQuAD 2.0's");
  visit("question_tokens", c.question_tokens,
        "of answer_spans: tokens that are kept of a question");
  visit("doc_stride", c.doc_stride,
        "of answer_spans: tokens between the beginnings of two windows of a text that is too long "
        "for one");
  visit("answer_tokens", c.answer_tokens, "of answer_spans: tokens that an answer may have");
  visit("validation_share", c.validation_share,
        "share of each class, or of the texts that are asked, that is held out where "
        "data.validation is empty");
  visit("seed", c.seed, "which rows are held out");
  visit("max_bad", c.max_bad, "share of the rows that may be left out because they cannot be read");
}

// The weights of train.class_weights for the classes `names`, whose counts in training are `counts`
// (empty before the data are made). Empty if all classes weigh the same. Throws a UsageError for
// text that is neither "balanced" nor one positive number for each class.
std::vector<double> class_weights_of(const std::string& text, const std::vector<std::string>& names,
                                     const std::vector<double>& counts);

ClassifyModel classify_model(const Recipe& recipe);
ClassifyData classify_data(const Recipe& recipe);
bool of_answers(const Recipe& recipe);  // whether its problem is answer_spans
WindowRules windows_of(const ClassifyData& data);
AnswerLimits answer_limits(const ClassifyData& data);

}  // namespace smelt
