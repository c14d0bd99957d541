// How many heads and neurons of each layer stay where all their products together may cost so much
// (Kwon et al. 2022, arXiv 2204.09656, section 4.1, algorithm 1; layers of one width here).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compress/units.h"

namespace smelt {

// Tokens of a text, and of a T5's answer.
struct MacLengths {
  std::int64_t text = 128, answer = 64;
};
// Multiplications of one unit in all of the group's products for one example: of the matrices that
// make it and that it goes into, and of a head's scores and sums, too.
double unit_macs(const CompressedFolder& folder, const PruneGroup& group,
                 const MacLengths& lengths);

// Units of one kind in all layers.
struct UnitCosts {
  std::int64_t units = 0, step = 1;  // of each layer; what stays is a multiple of `step`
  double macs = 0;                   // of one unit of each layer together
  std::vector<double> importance;    // [units + 1]: of all layers where so many stay
};
// importances: of each layer's units.
UnitCosts unit_costs(std::span<const std::vector<double>> importances, std::int64_t step,
                     double macs);

struct UnitCounts {
  std::int64_t heads = 0, neurons = 0;
};
// The most important that cost no more than `macs`, each at least one step. UsageError where not
// even one of each fits into that.
UnitCounts within_macs(const UnitCosts& heads, const UnitCosts& neurons, double macs);

}  // namespace smelt
