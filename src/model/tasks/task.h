// What is learned: the features that a record holds, the losses and metrics of a batch of them, and
// what a trained model answers. Trainer, evaluation, data and checkpoints know no more of a model.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "io/formats/feature.h"
#include "io/formats/window_transform.h"
#include "model/nn/scope.h"
#include "model/tasks/forward_outputs.h"

namespace smelt {

// How the sum over a batch's items becomes its loss: a factor that depends on the weight alone, so
// that sums and weights add up over micro-batches, replicas and hosts.
enum class Norm {
  mean,               // sum / weight
  mean_epsilon,       // sum / (weight + 1e-5): the original BERT's
  mean_tiny_epsilon,  // sum / (weight + 1e-6): the original ELECTRA's
  root,               // sum / sqrt(weight): JEstimator's
};

// What a measure's sums over all batches come to.
using Finish = double (*)(std::span<const double> sums);

// A figure of a batch. What is reported is sum / weight over all batches, whatever the norm.
struct Metric {
  std::string name;  // "masked_lm_loss"
  // f32 scalars; no gradient flows through the weight, which with micro-batches must not depend on
  // parameters.
  Tensor sum, weight;
  Norm norm = Norm::mean;
  double factor = 1;  // of a loss, in the sum of losses
  // For a metric that is no quotient of two sums: `sum` is a vector [n], and this is reported of
  // it.
  Finish finish = nullptr;
};

struct Objective {
  std::vector<Metric> losses;  // what is trained on: their normed, weighted sum
  std::vector<Metric> metrics;
};

// norm(sum, weight) / sum: an f32 scalar.
Tensor norm_factor(Norm norm, Tensor weight);

// The tensors of a batch by their features' names.
class Inputs {
 public:
  // One tensor for each feature, rows first.
  Inputs(const Features& features, std::span<const Tensor> tensors);
  // A name that no feature has is a bug.
  Tensor operator[](std::string_view name) const;

 private:
  const Features& features_;
  std::span<const Tensor> tensors_;
};

// An objective that tells what it is made of.
struct Tells {
  OutputSpec sizes;
  std::function<Objective(const Scope& root, const Inputs& inputs, ForwardOutputs& told)> objective;
};

struct Task {
  std::string name;  // "bert"
  Json settings;     // whatever the objective depends on: an object
  Features features;
  std::function<Objective(const Scope& root, const Inputs& inputs)> objective;
  // The feature whose numbers other than 0 are the tokens that are no padding; empty: not known.
  std::string tokens = {};
  // Lengths that a batch may have, ascending, the last that of `tokens`; empty: that alone. The
  // objective takes any of them.
  std::vector<std::int64_t> lengths = {};
  // The features that are all 0 in a padding example, which fills up a batch and has no weight in
  // any loss or metric of an evaluation. Empty: there are none, and an evaluation scores whole
  // batches only.
  std::vector<std::string> row_weights = {};
  // Whether the objective draws random numbers of its own, in evaluation, too.
  bool draws = false;
  // The names of the dimensions of the model's parameters, for model/nn/partition_rules.h; empty:
  // none is split.
  std::function<DimNames(std::string_view parameter)> dim_names = {};
  // Rules of rates by parameters' names (model/optim/rules.h) where each layer's is `decay` times
  // that of the one above it; unset: the task knows no layers.
  std::function<std::string(double decay)> layer_rates = {};
  // Parameters of a head that answers what settings' "problem" and "labels" ask: weights of another
  // run's head are not taken, whatever their shapes. Unset: there is none.
  std::function<bool(std::string_view parameter)> is_head = {};
  // Unset: nobody can look into it.
  std::optional<Tells> tells = {};
  // Of a model beside the one that learns; unset: there is none.
  std::optional<FrozenModel> holds = {};
  // What the data's description must say where it says anything: {"seq_length", 128}.
  std::vector<std::pair<std::string, Json>> described;
  // Its records, as RecordOptions has them (data/input_pipeline/example_source.h).
  std::string record_kind = {};
  std::vector<ForeignFeature> foreign = {};
  // What windows of plain tokens become; unset: the one feature is the window.
  std::optional<WindowTransform> windows = {};
};

// The task of batches of one of its `lengths`.
Task with_length(Task task, std::int64_t length);

// Answers of a trained model to a batch of other features.
struct Prediction {
  Features features;
  std::function<std::vector<Tensor>(const Scope& root, const Inputs& inputs)> outputs = {};
  // Above 0: outputs, scalars and vectors then, draw random numbers by an example's number over all
  // batches as in an evaluation, and what is answered are their means over so many draws.
  std::int64_t draws = 0;
};

}  // namespace smelt
