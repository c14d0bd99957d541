// A training objective: the features of an example, the losses and metrics of a batch, and
// predictions. The trainer, evaluation, data pipeline and checkpoints depend on models only through
// this interface.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "io/formats/feature.h"
#include "io/formats/lazy_tensor.h"
#include "io/formats/window_transform.h"
#include "model/models/layer_states.h"
#include "model/nn/lm_head.h"
#include "model/nn/scope.h"

namespace smelt::model {

// How the loss of a batch is computed from a sum over its items and their total weight. Sums and
// weights are added over micro-batches, replicas and hosts before this is applied.
enum class Norm {
  mean,               // sum / weight
  mean_epsilon,       // sum / (weight + 1e-5), as in the original BERT
  mean_tiny_epsilon,  // sum / (weight + 1e-6), as in the original ELECTRA
  root,               // sum / sqrt(weight), as in JEstimator
};

// Computes a metric from its sums over all batches.
using Finish = double (*)(std::span<const double> sums);

// A loss or metric of a batch. The reported value is sum / weight over all batches, whatever the
// norm.
struct Metric {
  std::string name;  // "masked_lm_loss"
  // f32 scalars. No gradient flows through the weight. With micro-batches the weight must not
  // depend on parameters.
  compiler::Tensor sum, weight;
  Norm norm = Norm::mean;
  double factor = 1;  // for losses: factor in the total loss
  // For metrics that are not a quotient of two sums: `sum` is a vector [n], and `finish` computes
  // the reported value.
  Finish finish = nullptr;
};

// The losses and metrics of a batch.
struct Objective {
  std::vector<Metric> losses;  // the training loss is their normalized, weighted sum
  std::vector<Metric> metrics;
};

// Returns the factor f32 such that sum * factor is the loss.
compiler::Tensor norm_factor(Norm norm, compiler::Tensor weight);

// Splits [rows, …] into [count, rows / count, …]: micro-batch i gets every count-th row from i on,
// so that rows stay on their device.
compiler::Tensor in_micro_batches(compiler::Tensor x, std::int64_t count);

// The tensors of a batch by feature name.
class Inputs {
 public:
  // Expects one tensor per feature, rows first.
  Inputs(const io::Features& features, std::span<const compiler::Tensor> tensors);
  // Returns the tensor of a feature. An unknown name is a bug.
  compiler::Tensor operator[](std::string_view name) const;
  bool has(std::string_view name) const;

 private:
  const io::Features& features_;
  std::span<const compiler::Tensor> tensors_;
};

// ---- intermediate outputs, which serve as distillation targets and for calibration ----
//   I rows   C classes or words

// How scores are interpreted.
enum class Scores {
  classes,  // softmax over a row
  labels,   // an independent probability each (logistic function)
  numbers,  // regression values
};

// Outputs of one model for a batch.
struct ForwardOutputs {
  std::vector<compiler::Tensor> scores =
      {};                                // f32 [I,C] each, weighted equally; empty for LM heads
  std::optional<LmHead> words = {};      // LM head, if scores are over words
  compiler::Tensor weights = {};         // f32 [I]: 0 for rows that do not count
  std::vector<LayerStates> stacks = {};  // hidden states per stack, as in OutputSpec::stacks
};

// Sizes of a stack of layers.
struct StackSizes {
  std::string what;  // "encoder"
  std::int64_t layers = 0, width = 0, heads = 0;
};
// Describes the outputs of a model, to check whether two models match.
struct OutputSpec {
  Scores scores = Scores::classes;
  std::int64_t columns = 0;     // C
  bool of_words = false;        // whether scores are over the vocabulary
  std::int64_t vocab_size = 0;  // rows of the embedding
  std::int64_t segments = 0;    // number of segment types; 0: segments are not used
  std::int64_t positions = 0;   // maximum sequence length; 0: unlimited
  std::vector<StackSizes> stacks;
};

// A frozen second model in an objective (Scope::held()). Its parameter values are loaded lazily.
struct FrozenModel {
  std::string where;                              // prefix of error messages
  std::shared_ptr<const io::LazyTensors> values;  // by parameter name
  std::function<DimNames(std::string_view parameter)> dim_names;
};

// An objective that also stores its intermediate outputs.
struct Tells {
  OutputSpec sizes;
  std::function<Objective(const Scope& root, const Inputs& inputs, ForwardOutputs& outputs)>
      objective;
};

// ---- tasks ----

// A training task.
struct Task {
  std::string name;  // "bert"
  Json settings;     // JSON object with everything the objective depends on
  io::Features features;
  std::function<Objective(const Scope& root, const Inputs& inputs)> objective;
  // The feature whose nonzero values are the tokens that are not padding; empty: unknown.
  std::string tokens = {};
  // Sequence lengths that a batch may have, ascending; the last one is the length of the feature
  // `tokens`. Empty: all batches have that length.
  std::vector<std::int64_t> lengths = {};
  // Features that are all 0 in padding examples. Padding examples fill up a batch and have no
  // weight in any loss or metric of an evaluation. Empty: padding is not supported, and an
  // evaluation uses whole batches only.
  std::vector<std::string> row_weights = {};
  // Whether all encoders of the objective can work on packed rows (packed_task()).
  bool can_be_packed = false;
  // Whether the loss of a row depends on other rows. With micro-batches the objective still gets
  // the whole batch and itself runs the encoder on ComputePolicy::micro_batches parts in sequence.
  bool splits_batch = false;
  // Whether the objective draws random numbers, also in evaluation.
  bool draws = false;
  // Returns the dimension names of parameters for model/nn/partition_rules.h; empty: no sharding.
  std::function<DimNames(std::string_view parameter)> dim_names = {};
  // Returns learning rate rules by parameter name (model/optim/rules.h) in which each layer has
  // `decay` times the rate of the layer above; empty: not supported.
  std::function<std::string(double decay)> layer_rates = {};
  // Returns whether a parameter belongs to a head that depends on the settings "problem" and
  // "labels". Such weights are not loaded from another run, whatever their shapes. Empty: there is
  // no such head.
  std::function<bool(std::string_view parameter)> is_head = {};
  // The objective with intermediate outputs; nullopt if not supported.
  std::optional<Tells> tells = {};
  // A frozen model that the objective also uses, such as a teacher.
  std::optional<FrozenModel> frozen = {};
  // Fields that must have these values in the dataset's description if they occur there, such as
  // {"seq_length", 128}.
  std::vector<std::pair<std::string, Json>> described;
  // The kind of records that the task reads; see RecordOptions
  // (data/input_pipeline/example_source.h).
  std::string record_kind = {};
  std::vector<io::ForeignFeature> foreign = {};
  // How windows of plain tokens become examples; nullopt: the window is the only feature.
  std::optional<io::WindowTransform> windows = {};
};

// Returns the task for batches whose sequence length is `length`, one of Task::lengths.
Task with_length(Task task, std::int64_t length);
// Returns the task for packed batches with this many slots per sequence (model/nn/packing.h). Their
// last features are those of io::packing_features(). Losses, metrics and random numbers are those
// of the unpacked batch.
Task packed_task(Task task, std::int64_t slots);

// The computation of a trained model's outputs for a batch.
struct Prediction {
  io::Features features;
  std::function<std::vector<compiler::Tensor>(const Scope& root, const Inputs& inputs)> outputs =
      {};
  // Above 0: outputs (scalars and vectors) depend on random numbers, drawn per example as in an
  // evaluation, and are averaged over this number of draws.
  std::int64_t draws = 0;
};

}  // namespace smelt::model
