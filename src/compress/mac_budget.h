// Chooses how many heads and neurons each layer keeps within a budget of multiply-accumulates, MACs
// (Kwon et al. 2022, arXiv 2204.09656, section 4.1, algorithm 1, with the same numbers in every
// layer).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compress/units.h"

namespace smelt::compress {

// Lengths in tokens of an input text and of a T5's output, for counting MACs.
struct MacLengths {
  std::int64_t text = 128, answer = 64;
};
// Returns the MACs of one unit for one example, over all matmuls of the group: the matmuls that
// produce and consume the unit and, for a head, its attention scores and weighted sums.
double unit_macs(const CompressedFolder& folder, const PruneGroup& group,
                 const MacLengths& lengths);

// The cost and importance of one kind of unit over all layers.
struct UnitCosts {
  std::int64_t units = 0, step = 1;  // per layer; the number kept is a multiple of `step`
  double macs = 0;                   // cost of one unit per layer, summed over all layers
  // [units + 1]: importance[n] is what remains over all layers if each layer keeps n units
  std::vector<double> importance;
};
// Returns the costs for units with these importances: one vector per layer, with one value per
// unit. `macs` is UnitCosts::macs.
UnitCosts unit_costs(std::span<const std::vector<double>> importances, std::int64_t step,
                     double macs);

// Numbers of units to keep in each layer.
struct UnitCounts {
  std::int64_t heads = 0, neurons = 0;
};
// Returns the numbers with the highest importance that cost at most `macs`, each at least one step.
// Throws UsageError if one step of each kind exceeds `macs`.
UnitCounts within_macs(const UnitCosts& heads, const UnitCosts& neurons, double macs);

}  // namespace smelt::compress
