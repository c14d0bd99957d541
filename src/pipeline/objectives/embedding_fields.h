// Recipe fields of model.type embedding.
#pragma once

#include <concepts>
#include <optional>
#include <string>
#include <type_traits>

#include "io/formats/embedding_form.h"
#include "model/tasks/embedding_task.h"
#include "pipeline/config/recipe.h"
#include "text/readers/rows.h"

namespace smelt::pipeline {

struct EmbeddingModel {
  std::string like;
  std::optional<io::Pooling> pooling = {};
  bool normalize = true;
  io::Similarity similarity = io::Similarity::cosine;
  model::EmbeddingLoss loss = model::EmbeddingLoss::ranking;
  double scale = 20;
  std::string matryoshka;
  bool mask_duplicates = true;
};

template <class C, class Visitor>
  requires std::same_as<std::remove_const_t<C>, EmbeddingModel>
void visit_fields(C& c, Visitor&& visit) {
  visit("like", c.like,
        "folder of a pre-trained encoder whose layer sizes the model uses; empty: "
        "train.init_from");
  visit("pooling", c.pooling,
        "how the token states of a text become its embedding: mean, or cls (the first token); "
        "auto: that of a sentence-transformers folder in train.init_from, else mean");
  visit("normalize", c.normalize, "divide each embedding by its Euclidean norm");
  visit("similarity", c.similarity,
        "how embeddings are compared in the ranking loss and in evaluation: cosine or dot");
  visit("loss", c.loss,
        "ranking: each anchor's positive must be more similar than the negatives and the texts of "
        "all other rows of the batch (InfoNCE, MultipleNegativesRankingLoss); cosent: similarities "
        "must have the order of the scores; cosine: similarities must equal the scores");
  visit("scale", c.scale,
        "factor of similarities in the ranking and cosent losses, the inverse of the temperature; "
        "use 1 with similarity dot");
  visit("matryoshka", c.matryoshka,
        "dimensions to which embeddings can be truncated after training, such as 128,64: the loss "
        "is also computed on embeddings of these sizes; empty: none");
  visit("mask_duplicates", c.mask_duplicates,
        "ranking: ignore texts of other rows that equal the positive, and positives of the same "
        "anchor, which are not negatives");
}

struct EmbeddingData {
  std::string train, validation, test;
  std::string format = "auto", anchor, positive, negative, score;
  text::Header header = text::Header::names;
  std::int64_t negatives = 0;
  double max_score = 1;
  std::int64_t seq_length = 128;
  std::string lengths = "auto";
  double validation_share = 0.1;
  std::int64_t seed = 12345;
  double max_bad = 0.01;
};

template <class C, class Visitor>
  requires std::same_as<std::remove_const_t<C>, EmbeddingData>
void visit_fields(C& c, Visitor&& visit) {
  visit("train", c.train,
        "pairs of texts to train on: files or patterns of JSONL, TSV, CSV or Parquet, comma "
        "separated; or a command that prints JSONL, '!./my_dataset.py train'");
  visit("validation", c.validation,
        "rows to evaluate on; empty: data.validation_share of data.train is held out");
  visit("test", c.test, "rows for eval.split test; empty: none");
  visit("format", c.format,
        "file format: jsonl, tsv, tsv-quoted, csv or parquet; auto: from the name of each file");
  visit("anchor", c.anchor,
        "column of the first text, such as a query; empty: anchor, or sentence1 with scores");
  visit("positive", c.positive,
        "column of the second text, such as a relevant document; empty: positive, or sentence2 "
        "with scores");
  visit("negative", c.negative,
        "ranking: columns of texts that are not relevant to the anchor (hard negatives), comma "
        "separated; a value may be a JSON list of texts; empty: none");
  visit("score", c.score,
        "cosent and cosine: column of the similarity of the two texts; empty: score");
  visit("header", c.header,
        "first line of a TSV or CSV file: names (column names), none (an ordinary row) or skipped "
        "(ignored); with none and skipped, columns are numbers, from 1, or from the last column, "
        "-1");
  visit("negatives", c.negatives,
        "hard negatives per example; a row may have fewer, further ones are not used; 0: one for "
        "each column of data.negative");
  visit("max_score", c.max_score, "the largest score: scores are divided by it; 5 for STS-B");
  visit("seq_length", c.seq_length, "tokens per text; longer texts are truncated");
  visit("lengths", c.lengths,
        "sequence lengths of training batches, so that batches of short texts have little padding: "
        "a list, 32,64, to which data.seq_length is added; auto: a few, chosen from the lengths of "
        "the examples; one: data.seq_length alone");
  visit("validation_share", c.validation_share,
        "share of the rows to hold out if data.validation is empty");
  visit("seed", c.seed, "random seed of the split into training and held-out rows");
  visit("max_bad", c.max_bad, "maximum share of unreadable rows, which are skipped");
}

EmbeddingModel embedding_model(const Recipe& recipe);
EmbeddingData embedding_data(const Recipe& recipe);
// Returns the number of texts per example: 2 and the hard negatives.
std::int64_t texts_per_example(const Recipe& recipe);

}  // namespace smelt::pipeline
