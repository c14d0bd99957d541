// Matching of pretrained weights with the parameters of a new run, by name and shape. Parameters
// without pretrained weights are initialized randomly.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "checkpoint/interop/pretrained_weights.h"
#include "model/train_step/state_layout.h"

namespace smelt::execution {

struct InitialWeights {
  // Pretrained values of the run's parameters. A resized parameter has only the first rows: those
  // that exist in both shapes.
  io::TensorMap parameters;
  // Resized parameters: "bert/embeddings/word_embeddings f32[100,16] to f32[120,16]".
  std::vector<std::string> resized;
  std::vector<std::string> fresh;       // parameters of the run that the pretrained weights lack
  std::vector<std::string> unused;      // pretrained weights that the run does not use
  checkpoint::PretrainedWeights given;  // owns the memory of `parameters`
};

// Returns which gelu a task computes in a BERT with pretrained weights, from its settings.
checkpoint::BertGelu gelu_of_task(const Json& settings);

// Returns whether a parameter's first dimension may differ from that of the pretrained weights.
using RowsMayDiffer = std::function<bool(std::string_view parameter)>;

// Matches the pretrained weights with the layout's parameters. Throws UsageError if no parameter of
// the run, or none of its encoder's, has pretrained weights, or if a shape does not fit.
InitialWeights take_weights(const model::StateLayout& layout, checkpoint::PretrainedWeights given,
                            const RowsMayDiffer& rows_may_differ);

// Returns text for a warning that describes how the vocabulary file `vocab` differs from that of
// the weights. Empty if one is a prefix of the other, or if either is unknown.
std::string other_vocabulary(const checkpoint::PretrainedWeights& given, const std::string& vocab);

// Returns text for a warning that names the parameters of the run's encoder (and of a T5's decoder)
// that the pretrained weights lack. Returns "" if they have all of them.
std::string missing_encoder_parameters(const InitialWeights& taken);

// Returns a table of the numbers of loaded, resized, random and unused parameters. The lines of the
// last three also show a few names, and are omitted if their number is 0.
std::string table_of(const InitialWeights& taken);

}  // namespace smelt::execution
