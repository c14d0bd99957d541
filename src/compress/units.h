// What a layer computes side by side and may do without: heads, and neurons of a feed-forward. A
// unit is some columns of one product's matrix and the rows that make them, so that leaving it out
// leaves a model of narrower matrices. Tensors go by Hugging Face's names, [out, in].
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compress/cut_tensors.h"

namespace smelt {

// The units of one product.
struct PruneTarget {
  std::string what;                 // "layer 0"
  std::string output;               // [H, units * width], whose columns they are
  std::vector<std::string> inputs;  // [units * width, …], whose rows they are
  std::string parameter;            // the output's name in smelt, [units * width, H] there
  std::int64_t layer = 0;           // of its stack
  bool of_decoder = false;
};

// Products that keep the same units.
struct PruneGroup {
  std::vector<PruneTarget> products;
  std::int64_t units = 0, width = 1;
  std::string table = {};  // [rows, units], whose columns go along: a T5's position biases
};

// Groups without the products of other layers of the stacks, and without those that had no others.
std::vector<PruneGroup> of_layers(std::vector<PruneGroup> groups,
                                  const std::vector<std::vector<std::int64_t>>& kept_layers);

// One group for each feed-forward.
std::vector<PruneGroup> ffn_groups(const CompressedFolder& folder,
                                   const std::vector<LayerStack>& stacks);
// One for each layer of a BERT or an ELECTRA. Of a T5 one for the self-attentions of a stack, which
// share position biases, and one for each attention to the encoder.
std::vector<PruneGroup> head_groups(const CompressedFolder& folder,
                                    const std::vector<LayerStack>& stacks);

// How many of the units make that share, at least one step: a multiple of `step`, which is halved
// until it is no more than they are.
std::int64_t width_for(double share, std::int64_t units, std::int64_t step);

// `step`, halved until two are no more than all units.
std::int64_t step_within(std::int64_t units, std::int64_t step);

// The numbers of the `count` largest, ascending; of equal ones the first.
std::vector<std::int64_t> largest(const std::vector<double>& values, std::int64_t count);

// Leaves the other units out; the config is left alone.
void keep_units(CompressedFolder& folder, const PruneGroup& group,
                const std::vector<std::int64_t>& kept);

// Each unit that is left says so many times what it said in that product of the group.
void scale_units(CompressedFolder& folder, const PruneGroup& group, const PruneTarget& product,
                 const std::vector<double>& factors);

}  // namespace smelt
