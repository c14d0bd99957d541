// smelt electra flops: what training the models of ELECTRA's paper costs.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace smelt {

struct TrainingCost {
  std::string model;
  double original;  // operations, as the original counts: the backward pass as one forward pass
  double real;      // with a backward pass of two: the products for the inputs and for the weights
};

// The rows of google-research/electra's flops_computation.py, in its order.
std::vector<TrainingCost> electra_training_costs();

void add_electra_flops(CLI::App& electra);

}  // namespace smelt
