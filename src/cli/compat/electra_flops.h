// smelt electra flops: floating-point operations of training the models of ELECTRA's paper.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace smelt::cli {

struct TrainingCost {
  std::string model;
  double original;  // operations, counting the backward pass as one forward pass (as the original)
  double real;      // operations, counting the backward pass as two forward passes
};

// Returns the rows of google-research/electra's flops_computation.py, in its order.
std::vector<TrainingCost> electra_training_costs();

void add_electra_flops(CLI::App& electra);

}  // namespace smelt::cli
