// The state that training carries from step to step: names, shapes and initializers. Programs and
// checkpoints use this list, whatever the model and the optimizer are.
#pragma once

#include <string>
#include <vector>

#include "model/nn/scope.h"
#include "model/optim/optimizer.h"

namespace smelt::model {

// One tensor of the state.
struct StateTensor {
  std::string name;  // "bert/pooler/dense/bias", "bert/encoder/layer_*/output/dense/bias/adam_m"
  compiler::Shape shape;
  Init init;
  // Above 0: number of layers stacked along axis 0. Checkpoints store them separately; "*" in the
  // name stands for the layer number.
  std::int64_t layers = 0;
  compiler::Sharding sharding = {};
  std::string drawn_as = {};  // name that determines its initial values; empty: its own
  bool saved = true;          // if false it starts from its initializer in every run

  // Return the names in a checkpoint, and the shape of each tensor there.
  std::vector<std::string> stored_names() const;
  compiler::Shape shape_of_one() const;
  std::vector<std::string> drawn_names() const;
};

// The state of a program.
struct StateLayout {
  std::vector<StateTensor> tensors;  // in order of the program's arguments: values, slots, others
  std::size_t values = 0;            // number of parameter values

  std::int64_t parameters() const;  // number of elements in the values
};

// Returns the layout of the parameter values.
StateLayout values_layout(const Parameters& parameters, const PartitionRules& partition = {});
// Returns the layout of values and optimizer slots. A dimension of a slot that is as long as the
// same dimension of its parameter is sharded like it.
StateLayout training_layout(const Parameters& parameters, const Optimizer& optimizer,
                            const PartitionRules& partition = {});

}  // namespace smelt::model
