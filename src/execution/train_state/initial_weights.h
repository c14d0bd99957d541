// What a new run takes from given weights: parameters are matched by their names and shapes, all
// others start as their Init says.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "checkpoint/interop/pretrained_weights.h"
#include "model/train_step/state_layout.h"

namespace smelt {

struct InitialWeights {
  TensorMap parameters;  // of the run; a resized one has the rows that both have, the first ones
  std::vector<std::string> resized;  // "bert/embeddings/word_embeddings f32[100,16] to f32[120,16]"
  std::vector<std::string> fresh;    // of the run, not given
  std::vector<std::string> unused;   // given, not of the run
  PretrainedWeights given;           // what `parameters` look into
};

// Whether a parameter's first dimension may have another size.
using RowsMayDiffer = std::function<bool(std::string_view parameter)>;

// UsageError when nothing given is of the run, or nothing of its encoder, and for a shape that does
// not fit (both shapes).
InitialWeights take_weights(const StateLayout& layout, PretrainedWeights given,
                            const RowsMayDiffer& rows_may_differ);

// For a warning: how the vocabulary's file `vocab` differs from that of the weights. Empty where it
// does not, where one only has more rows, or where either is unknown.
std::string other_vocabulary(const PretrainedWeights& given, const std::string& vocab);

// For a warning: names the parameters of the run's encoder (and of a T5's decoder) that were not
// given and start with random values. Empty if there are none.
std::string missing_encoder_parameters(const InitialWeights& taken);

// A line for each of the kinds above, with how many there are and the first of their names.
std::string table_of(const InitialWeights& taken);

}  // namespace smelt
