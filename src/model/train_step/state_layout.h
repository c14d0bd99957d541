// What training carries from step to step, as a list: names, shapes and how each starts. Programs
// take it, checkpoints hold it, whatever the model and the optimizer are.
#pragma once

#include <string>
#include <vector>

#include "model/nn/scope.h"
#include "model/optim/optimizer.h"

namespace smelt {

struct StateTensor {
  std::string name;  // "bert/pooler/dense/bias", "bert/encoder/layer_*/output/dense/bias/adam_m"
  Shape shape;
  Init init;
  // Above 0: so many tensors of one shape along axis 0, which checkpoints hold one by one: "*" in
  // the name stands for the number.
  std::int64_t layers = 0;
  Sharding sharding = {};
  std::string drawn_as = {};  // by which its first values are drawn or given; empty: its name
  bool saved = true;          // else it is as its init says whenever a run begins

  // The names in a checkpoint, by which alone its tensors are looked up, and the shape that each
  // has there.
  std::vector<std::string> stored_names() const;
  Shape shape_of_one() const;
  std::vector<std::string> drawn_names() const;
};

struct StateLayout {
  std::vector<StateTensor> tensors;  // in the programs' order: values, slots, what else there is
  std::size_t values = 0;            // how many are parameters' values

  std::int64_t parameters() const;  // numbers in them
};

StateLayout values_layout(const Parameters& parameters, const PartitionRules& partition = {});
// With each parameter's slots after one another. A slot is split like its parameter along the
// dimensions that the two share.
StateLayout training_layout(const Parameters& parameters, const Optimizer& optimizer,
                            const PartitionRules& partition = {});

}  // namespace smelt
