// What a model says of a batch on the way to its losses: what another model can be held to.
//   I rows of answers   C classes, or words
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/formats/lazy_tensor.h"
#include "model/models/layer_states.h"
#include "model/nn/lm_head.h"
#include "model/nn/scope.h"

namespace smelt {

// What scores are made into.
enum class Scores {
  classes,  // probabilities by a softmax over a row
  labels,   // a probability each, by the logistic function
  numbers,  // they are numbers themselves
};

struct ForwardOutputs {
  std::vector<Tensor> scores = {};       // f32 [I,C] each, which count alike; empty of words
  std::optional<LmHead> words = {};      // the head whose scores of all words count
  Tensor weights = {};                   // f32 [I]: 0 of rows that do not count
  std::vector<LayerStates> stacks = {};  // as StackSizes has them; with_heads says what is wanted
};

// A stack of a model's layers, as messages name and compare it.
struct StackSizes {
  std::string what;  // "encoder"
  std::int64_t layers = 0, width = 0, heads = 0;
};
struct OutputSpec {
  Scores scores = Scores::classes;
  std::int64_t columns = 0;     // C
  bool of_words = false;        // whether they are the vocabulary's
  std::int64_t vocab_size = 0;  // rows of the embedding
  std::int64_t segments = 0;    // kinds of segments; 0: none are told apart
  std::int64_t positions = 0;   // tokens of the longest text; 0: any
  std::vector<StackSizes> stacks;
};

// Parameters that an objective holds as they are given (Scope::held()), by their names there; read
// when they are wanted.
struct FrozenModel {
  std::string where;  // to begin messages with
  std::shared_ptr<const LazyTensors> values;
  std::function<DimNames(std::string_view parameter)> dim_names;
};

}  // namespace smelt
