// What the tiny golden models' folders answer: by smelt, and by transformers.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "runs/golden_classify.h"
#include "support/paths.h"

namespace smelt::compress {

// "hf", the folder of a golden model by its name, and "rows.tsv", 24 labelled rows for it.
void write_golden_folder(const std::string& name, bool is_t5, const TempDir& dir);

// Probabilities of the golden batch's rows.
std::vector<std::vector<float>> scores_of_folder(const GoldenClassify& golden,
                                                 const std::string& folder);

// Logits [B,3] of the golden batch by a program of tools/, which may be named with flags.
std::vector<float> logits_by(const std::string& tool, const GoldenClassify& golden,
                             const std::string& folder);
// By how much the differences of a row's logits are others than its probabilities say, at most.
double largest_difference(const std::vector<std::vector<float>>& scores,
                          const std::vector<float>& logits);
// Expects transformers' logits of the folder to be those scores, up to 1e-5.
void expect_transformers_scores(const GoldenClassify& golden, const std::string& folder,
                                const std::vector<std::vector<float>>& scores);

// A T5's best answers to a few texts by beams, with their scores.
using GoldenAnswers = std::vector<std::pair<std::vector<std::int32_t>, float>>;
GoldenAnswers answers_of_folder(const std::string& folder);
// The same words, and scores no further apart than that.
void expect_same_answers(const GoldenAnswers& is, const GoldenAnswers& was, double tolerance);

}  // namespace smelt::compress
