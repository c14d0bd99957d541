// Outputs of folders of the tiny golden models, from smelt and from transformers.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "runs/golden_classify.h"
#include "support/paths.h"

namespace smelt::compress {

// Writes "hf", the folder of the golden model of this name, and "rows.tsv", 24 labelled rows for
// it.
void write_golden_folder(const std::string& name, bool is_t5, const TempDir& dir);

// Returns the class probabilities of the golden batch's rows, computed by smelt.
std::vector<std::vector<float>> scores_of_folder(const GoldenClassify& golden,
                                                 const std::string& folder);

// Returns logits [B,3] of the golden batch, computed by a program in tools/; `tool` may include
// flags.
std::vector<float> logits_by(const std::string& tool, const GoldenClassify& golden,
                             const std::string& folder);
// Returns the largest error of a logit relative to the row's first logit, compared with what the
// probabilities imply.
double largest_difference(const std::vector<std::vector<float>>& scores,
                          const std::vector<float>& logits);
// Expects that transformers' logits of the folder match these probabilities up to 1e-5.
void expect_transformers_scores(const GoldenClassify& golden, const std::string& folder,
                                const std::vector<std::vector<float>>& scores);

// A T5's best outputs for a few texts by beam search, and their scores.
using GoldenAnswers = std::vector<std::pair<std::vector<std::int32_t>, float>>;
GoldenAnswers answers_of_folder(const std::string& folder);
// Expects equal tokens, and scores that differ by at most `tolerance`.
void expect_same_answers(const GoldenAnswers& is, const GoldenAnswers& was, double tolerance);

}  // namespace smelt::compress
