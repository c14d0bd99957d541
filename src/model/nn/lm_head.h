// LM head: the scores of all vocabulary words, and losses and ranks of labels. The scores of all
// words at all positions can take most of a step's memory. They are then computed for one block of
// words at a time, and recomputed in the backward pass.
//   I rows   E row width   V vocabulary
#pragma once

#include "model/nn/scope.h"

namespace smelt::model {

// An output layer: the score of word v in row i is scale * rows[i] . words[v] + bias[v].
struct LmHead {
  compiler::Tensor rows;   // [I,E]
  compiler::Tensor words;  // f32 [V,E]
  compiler::Tensor bias;   // f32 [V]
  double scale = 1;        // multiplies the f32 scores: bf16 rows may not represent it exactly
};

compiler::Tensor lm_logits(const LmHead& head);  // f32 [I,V]

// Scores of labels.
struct LabelScores {
  compiler::Tensor loss;  // f32 [I]: -log p(label), where p is the softmax of a row's scores
  compiler::Tensor
      rank;  // f32 [I]: 1 + number of other words with at least the label's score; no gradient
  compiler::Tensor
      best;  // s32 [I]: the word with the largest score, the first on ties; no gradient
  compiler::Tensor log_sum;  // f32 [I]: log of the sum of exp(score) over all words
};

// Scores labels s32 [I]. Uses blocks of words if the scores on a device exceed
// `s.compute().logits_bytes`, except over a mesh that shards the vocabulary, where each device has
// only a part of the scores. The values agree up to rounding.
LabelScores score_labels(const Scope& s, const LmHead& head, compiler::Tensor labels);

// Returns KL(teacher || student), f32 [I], of the softmaxes of scores [I,C].
compiler::Tensor divergence_of_scores(compiler::Tensor student, compiler::Tensor teacher);

// Returns KL(teacher || student), f32 [I], of the softmaxes of both heads' scores divided by
// `temperature`. No gradient flows into the teacher. Uses blocks of words if the scores of both
// heads on a device exceed `s.compute().logits_bytes`.
compiler::Tensor word_divergence(const Scope& s, const LmHead& student, const LmHead& teacher,
                                 double temperature);

}  // namespace smelt::model
