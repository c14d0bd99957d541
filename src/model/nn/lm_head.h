// The end of a masked LM: scores of every word of a vocabulary, and what they say of the words that
// are right. Scores of all words at all positions can be most of a step's memory; they are then
// made a block of words at a time, and again in the backward pass.
//   I rows   E their width   V vocabulary
#pragma once

#include "model/nn/scope.h"

namespace smelt {

// Word v has the score scale * rows[i] . words[v] + bias[v] in row i.
struct LmHead {
  Tensor rows;       // [I,E]
  Tensor words;      // f32 [V,E]
  Tensor bias;       // f32 [V]
  double scale = 1;  // multiplies the f32 products: narrow rows may not hold it
};

Tensor lm_logits(const LmHead& head);  // f32 [I,V]

struct LabelScores {
  Tensor loss;  // f32 [I]: -log p(label), p the softmax of a row's scores
  Tensor rank;  // f32 [I]: 1 + how many other words score at least what the label does; no gradient
  Tensor best;  // s32 [I]: the word that scores most, the first of equals; no gradient
  Tensor log_sum;  // f32 [I]: log of the sum of all words' exp(score)
};

// Of labels s32 [I]. In blocks where a device's scores are more than `s.compute().logits_bytes`,
// but not over a mesh that splits the vocabulary: there a device has a share of them anyway. Values
// are those of all words at once, but for rounding.
LabelScores score_labels(const Scope& s, const LmHead& head, Tensor labels);

// KL(teacher || student) f32 [I] of the softmaxes of scores [I,C].
Tensor divergence_of_scores(Tensor student, Tensor teacher);

// KL(teacher || student) f32 [I] of the softmaxes of both heads' scores over `temperature`. No
// gradient flows into the teacher. In blocks as above if a device's scores of both heads together
// are more than `s.compute().logits_bytes`.
Tensor word_divergence(const Scope& s, const LmHead& student, const LmHead& teacher,
                       double temperature);

}  // namespace smelt
