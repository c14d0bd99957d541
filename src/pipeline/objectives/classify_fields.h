// Recipe fields of model.type classify.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "io/formats/labels.h"
#include "pipeline/config/recipe.h"
#include "text/readers/rows.h"
#include "text/tokenizers/answer_windows.h"

namespace smelt::pipeline {

struct ClassifyModel {
  std::string like;
  io::Problem problem = io::Problem::single_label;
  double dropout = 0.1;
};

template <class C, class Visitor>
  requires std::same_as<std::remove_const_t<C>, ClassifyModel>
void visit_fields(C& c, Visitor&& visit) {
  visit("like", c.like,
        "folder of a BERT, RoBERTa, ModernBERT, DeBERTa or ELECTRA whose layer sizes the encoder "
        "uses; empty: "
        "train.init_from");
  visit("problem", c.problem,
        "single_label: one of several classes; multi_label: any number of classes, separated by "
        "commas or as a JSON list; regression: a number; token_labels: a class for each word, in "
        "order; answer_spans: the place in a text that answers a question; rerank: how relevant a "
        "document is to a query, from 0 to 1");
  visit("dropout", c.dropout, "dropout of the input of the classification head");
}

struct ClassifyData {
  std::string train, validation, test;
  std::string format = "auto", text, pair, label, negative, labels;
  text::Header header = text::Header::names;
  bool both_orders = false;
  std::string glue, glue_folder = "glue_data";
  std::int64_t seq_length = 128;
  std::string lengths = "auto";
  bool no_answer = false;
  std::int64_t question_tokens = io::AnswerLimits().question_tokens,
               doc_stride = io::AnswerLimits().doc_stride,
               answer_tokens = io::AnswerLimits().answer_tokens;
  double validation_share = 0.1;
  std::int64_t seed = 12345;
  double max_bad = 0.01;
};

// Visits the fields that describe the columns and labels of the rows.
template <class C, class Visitor>
  requires std::same_as<std::remove_const_t<C>, ClassifyData>
void visit_row_fields(C& c, Visitor&& visit) {
  visit("text", c.text,
        "column of the text; token_labels: column of the words, separated by spaces or as an "
        "array; answer_spans: column of the question; rerank: column of the query; empty: text, "
        "question or query");
  visit("pair", c.pair,
        "column of a second text; answer_spans: column of the context, which contains the answer; "
        "rerank: column of the document; empty: no second text; answer_spans: context; rerank: "
        "document, or positive if data.negative is set");
  visit("label", c.label,
        "column of the label; answer_spans: column of the answers; empty: label, or answers");
  visit("negative", c.negative,
        "columns of texts that are not relevant to the query or anchor (hard negatives), comma "
        "separated; a value may be a JSON list of texts. For rerank, data.pair is then the column "
        "of a relevant document, and no label is read");
  visit("labels", c.labels,
        "names of the classes in order, separated by commas or as a JSON list; empty: the labels "
        "of data.train, sorted");
  visit(
      "header", c.header,
      "first line of a TSV or CSV file: names (column names), none (an ordinary row) or skipped "
      "(ignored); with none and skipped, columns are numbers, from 1, or from the last column, -1");
  visit("both_orders", c.both_orders,
        "also train on each pair with its two texts swapped, for tasks in which their order has no "
        "meaning");
  visit("glue", c.glue,
        "GLUE task (cola, sst, mrpc, qqp, sts, mnli, qnli, rte, wnli) that sets files, columns and "
        "labels in data:, and model.problem, if they are unset");
  visit("glue_folder", c.glue_folder,
        "with data.glue: folder that contains the task's files, or the folders of all tasks");
}

template <class C, class Visitor>
  requires std::same_as<std::remove_const_t<C>, ClassifyData>
void visit_fields(C& c, Visitor&& visit) {
  visit("train", c.train,
        "labelled texts to train on: files or patterns of JSONL, TSV, CSV or Parquet "
        "(token_labels: also CoNLL; answer_spans: also SQuAD JSON), comma separated; or a command "
        "that prints JSONL, '!./my_dataset.py train'");
  visit("validation", c.validation,
        "labelled texts to evaluate on; empty: data.validation_share of data.train is held out");
  visit("test", c.test, "labelled texts for eval.split test; empty: none");
  visit("format", c.format,
        "file format: jsonl, tsv, tsv-quoted, csv, parquet, conll or squad; auto: from the name of "
        "each file");
  visit_row_fields(c, visit);
  visit("seq_length", c.seq_length, "tokens per example; longer texts are truncated");
  visit("lengths", c.lengths,
        "sequence lengths of training batches, so that batches of short texts have little padding: "
        "a list, 32,64, to which data.seq_length is added; auto: a few, chosen from the lengths of "
        "the examples; one: data.seq_length alone");
  visit("no_answer", c.no_answer,
        "answer_spans: whether a question may have no answer, as in SQuAD 2.0");
  visit("question_tokens", c.question_tokens,
        "answer_spans: maximum length of a question in tokens; longer questions are truncated");
  visit("doc_stride", c.doc_stride,
        "answer_spans: tokens between the starts of two windows of a context that is too long for "
        "one window");
  visit("answer_tokens", c.answer_tokens, "answer_spans: maximum length of an answer in tokens");
  visit("validation_share", c.validation_share,
        "share of each class (answer_spans: of the contexts, rerank: of the queries) to hold out "
        "if data.validation is empty");
  visit("seed", c.seed, "random seed of the split into training and held-out rows");
  visit("max_bad", c.max_bad, "maximum share of unreadable rows, which are skipped");
}

// Parses train.class_weights. `names` are the classes and `counts` their counts in the training
// examples (empty before the examples are made). Returns an empty vector if `text` is empty or
// "none". Otherwise throws UsageError unless `text` is "balanced" or has one positive number for
// each class.
std::vector<double> class_weights_of(const std::string& text, const std::vector<std::string>& names,
                                     const std::vector<double>& counts);

ClassifyModel classify_model(const Recipe& recipe);
ClassifyData classify_data(const Recipe& recipe);
bool of_answers(const Recipe& recipe);  // whether model.problem is answer_spans
text::WindowRules windows_of(const ClassifyData& data);
io::AnswerLimits answer_limits(const ClassifyData& data);

}  // namespace smelt::pipeline
