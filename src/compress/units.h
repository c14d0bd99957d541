// Units that structured pruning can remove from a layer: attention heads and feed-forward neurons.
// A unit is a block of columns of one matrix (the output) and the rows of other matrices that
// produce it, so removing it leaves smaller dense matrices. Tensors have Hugging Face's names and
// layout, [out, in].
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compress/cut_tensors.h"

namespace smelt::compress {

// The units at the input of one matmul.
struct PruneTarget {
  std::string what;    // "layer 0"
  std::string output;  // matrix [H, units * width] whose columns are the units
  // tensors [parts * units * width, ...] whose rows produce them; each part has rows for all units
  std::vector<std::string> inputs;
  std::int64_t parts = 1;
  std::string parameter;   // smelt's name of `output`, stored as [units * width, H]
  std::int64_t layer = 0;  // number within its stack
  bool of_decoder = false;
};

// Matmuls that must keep the same units.
struct PruneGroup {
  std::vector<PruneTarget> products;
  std::int64_t units = 0, width = 1;
  std::string table = {};  // [rows, units] table pruned with them: a T5's position biases
};

// Returns the groups without the matmuls of removed layers, and without groups that become empty.
// `kept_layers` has the numbers of the layers that remain, by stack: the encoder's (or those of a
// BERT), then the decoder's.
std::vector<PruneGroup> of_layers(std::vector<PruneGroup> groups,
                                  const std::vector<std::vector<std::int64_t>>& kept_layers);

// Returns one group for each feed-forward.
std::vector<PruneGroup> ffn_groups(const CompressedFolder& folder,
                                   const std::vector<LayerStack>& stacks);
// Returns one group for each layer of an encoder. For a T5, returns one group for the
// self-attentions of each stack, which share position biases, and one for each cross-attention.
std::vector<PruneGroup> head_groups(const CompressedFolder& folder,
                                    const std::vector<LayerStack>& stacks);

// Returns the number of units nearest to share * units that is a multiple of `step`. Halves `step`
// first while it exceeds share * units.
std::int64_t width_for(double share, std::int64_t units, std::int64_t step);

// Returns `step`, halved until two steps fit into `units`.
std::int64_t step_within(std::int64_t units, std::int64_t step);

// Returns the indices of the `count` largest values in ascending order. Among equal values the
// first ones are chosen.
std::vector<std::int64_t> largest(const std::vector<double>& values, std::int64_t count);

// Removes all units but `kept` from the tensors. Does not change the config.
void keep_units(CompressedFolder& folder, const PruneGroup& group,
                const std::vector<std::int64_t>& kept);

// Multiplies the columns of each remaining unit in one matmul of the group by the unit's factor.
void scale_units(CompressedFolder& folder, const PruneGroup& group, const PruneTarget& product,
                 const std::vector<double>& factors);

}  // namespace smelt::compress
