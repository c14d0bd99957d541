// Named parameters, declared where they are used. A scope is like a path: its text is the name of
// the variable in the original checkpoints, e.g.
// "bert/encoder/layer_0/attention/self/query/kernel".
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "compiler/autodiff/scan.h"
#include "compiler/ir/graph.h"
#include "model/nn/partition_rules.h"

namespace smelt {

// How a parameter starts.
struct Init {
  enum Kind { constant, truncated_normal, uniform } kind = constant;
  double value = 0;   // constant
  double stddev = 0;  // truncated_normal: cut at +-2 stddev, not rescaled
  double limit = 0;   // uniform: within +-limit
};

struct Parameter {
  std::string name;  // with "*" for the layer's number where it is stacked
  Tensor tensor;
  Init init;
  std::int64_t layers = 0;  // above 0: that many parameters of one shape along axis 0

  // The names of these parameters, and the shape that they share.
  std::vector<std::string> names() const;
  Dims dims_of_one() const;
};

// "layer_*/kernel", 3 -> "layer_3/kernel"
std::string layer_name(std::string_view stacked, std::int64_t layer);
// The names of so many layers; 0: the name itself.
std::vector<std::string> layer_names(const std::string& name, std::int64_t layers);
// Dimensions of so many layers along axis 0; 0: as they are.
Dims stacked_dims(std::int64_t layers, Dims of_one);

// A kernel [I,O] as codes of eight bits, each output by a scale of its own:
// kernel[i,o] = codes[o,i] * scales[o].
struct QuantizedKernel {
  Tensor codes;             // s8 [O,I]
  Tensor scales;            // f32 [O]
  Tensor input_scale = {};  // f32 [1], of RowScales::given
};
// By what the rows that come to a product are rounded to codes.
enum class RowScales {
  own,    // each by a scale of its own, taken as it comes
  given,  // all by one, a parameter
};
// Kernels in codes by name, and how their products' rows become codes.
using CodedKernels = std::map<std::string, RowScales, std::less<>>;
// What the parameters of a coded kernel's scales are called.
std::string scales_name(std::string_view kernel);
std::string input_scale_name(std::string_view kernel);

// The parameters of a model in order of declaration.
class Parameters {
 public:
  const std::vector<Parameter>& all() const { return list_; }
  const Parameter* find(std::string_view name) const;
  // Those of Scope::held(); null: there are none.
  const Parameters* held() const { return held_.get(); }

 private:
  friend class Scope;
  std::vector<Parameter> list_;
  std::map<std::string, std::size_t, std::less<>> index_;
  std::unordered_map<Tensor, QuantizedKernel> coded_;  // by the floats that stand for them
  std::shared_ptr<Parameters> held_;
};

// What a seed gives each place that draws, as an argument of a program, which is so the same for
// all seeds.
struct SeedKeys {
  static constexpr std::size_t kMostPlaces = 64;  // a stack's layers draw at the same places

  Tensor words;                     // u32 [2 * kMostPlaces]: two of each place
  std::vector<std::string> places;  // that have drawn so far

  std::vector<std::uint32_t> of_seed(std::uint64_t seed) const;
};

// Where random numbers come from (model/nn/random.h). Row i of a tensor is row first_row + i *
// row_stride of the whole batch: what a device or a micro-batch draws is what the whole would have
// drawn.
struct RandomSource {
  std::uint64_t seed = 0;
  Tensor step;            // s32 scalar
  Tensor stream = {};     // s32 scalar: who draws bits of its own; empty: all draw the same
  Tensor first_row = {};  // s32 scalar; empty: 0
  std::int64_t row_stride = 1;
  bool training = true;                 // false: in evaluation, where only the task itself draws
  std::shared_ptr<SeedKeys> keys = {};  // null: the program is of the seed above
};

enum class Layers {
  unrolled,  // each layer has operations of its own
  scan,      // one layer in a loop over stacked parameters: compile time does not grow with depth
};

// How a model is computed. Names of parameters and, but for rounding, values do not depend on it.
struct ComputePolicy {
  // The type of activations and matrix products. Parameters, norms, softmax, losses and sums are
  // f32.
  DType dtype = DType::f32;
  bool exact_products = false;  // HloForm::exact_products
  Layers layers = Layers::unrolled;
  RematPolicy save = RematPolicy::all;  // of a scanned layer, for its backward pass
  // Dense layers of one input as one product of matrices, which is faster on the CPU; a TPU would
  // copy what is cut out of it.
  bool joined_products = false;
  // Dropout's masks are made once and kept for the backward pass, which the CPU is faster with;
  // elsewhere they are made again from their bits wherever they are used.
  bool stored_masks = false;
  // Attention's scores are kept for the backward pass as anything else is. A TPU makes them again:
  // at 512 tokens 2 % more products, and unrolled layers take two thirds of the memory.
  bool stored_scores = true;
  // The gradient of attention's softmax takes its sums from the context (model/nn/attention.cpp),
  // not over all keys: fewer passes over scores. The CPU gains nothing by it.
  bool softmax_by_context = false;
  // Queries that attention takes at a time (model/nn/attention.h); 0: all.
  std::int64_t attention_rows = 0;
  // Most bytes of scores of all words that a device makes at a time (model/nn/lm_head.h); 0: all.
  std::int64_t logits_bytes = 0;
  std::shared_ptr<const PartitionRules> partition = {};  // null: nothing is split
  // Kernels that are parameters in codes (QuantizedKernel) and whose products are of integers.
  // Null: none. Of unrolled layers alone.
  std::shared_ptr<const CodedKernels> in_codes = {};
  // Products within layers take part as products of codes would (model/nn/fake_quant.h), and learn.
  bool fake_quant = false;
};

class Scope {
 public:
  // Without a source of random numbers, or with one of evaluation, dropout is the identity.
  Scope(Graph& graph, Parameters& parameters, std::optional<RandomSource> random = {},
        ComputePolicy compute = {})
      : graph_(&graph), parameters_(&parameters), random_(random), compute_(std::move(compute)) {}

  Scope operator/(std::string_view name) const;
  // Layer `number` (s32 scalar) of a stack: path ".../layer_<label>", place ".../layer_*". In a
  // scan the label is "*" and `body` the loop of `count` layers.
  Scope layer(std::string_view name, std::string_view label, Tensor number) const;
  Scope stacked(std::string_view name, std::int64_t count, ScanBody& body) const;

  // The same within a region, maybe on other rows: its parameters are declared already.
  Scope within(Graph& graph, std::optional<RandomSource> random) const;
  // The same parameters once more in the same graph, for another `use`, which keys what is drawn.
  Scope again(std::string_view use) const;
  // The root of another model in the same graph, whose parameters are held as they are given: they
  // have names of their own, no gradients and no slots, and nothing is dropped out.
  Scope held(ComputePolicy compute) const;
  // The same, its model's layers computed as codes (Compute::fake_quant).
  Scope fake_quantized() const;
  // The same in one shard of a mesh axis (per_shard): parameters and rows lie over the other axes.
  Scope shard_of(std::string_view axis) const;

  const std::string& path() const { return path_; }
  // The path with "*" for a layer's number: what random numbers are keyed by, beside layer().
  const std::string& place() const { return place_; }
  Tensor layer() const { return layer_; }  // s32 scalar; empty outside of a stack
  Graph& graph() const { return *graph_; }
  const std::optional<RandomSource>& random_source() const { return random_; }
  bool training() const { return random_ && random_->training; }
  const ComputePolicy& compute() const { return compute_; }

  // Declares a new f32 parameter, or one in codes (Compute::in_codes), of which the floats are
  // given; a name declared twice is a bug: say shared() to use one again.
  Tensor parameter(std::string_view name, Dims dims, Init init) const;
  // A parameter declared before, by its full name.
  Tensor shared(std::string_view full_name) const;
  // What the floats of a parameter stand for, where that is in codes; else null.
  const QuantizedKernel* coded(Tensor kernel) const;

 private:
  const Parameter& find(std::string_view full_name) const;
  void declare(std::string full_name, Shape shape, Init init) const;
  // The parameter as it is used: not split over fsdp.
  Tensor gathered(std::string_view full_name, Tensor tensor) const;

  Graph* graph_;
  Parameters* parameters_;
  std::optional<RandomSource> random_;
  ComputePolicy compute_;
  std::string path_, place_;
  Tensor layer_;
  ScanBody* body_ = nullptr;
  std::int64_t count_ = 0;
  bool again_ = false;  // parameter() finds what is declared
};

// A parameter whose rows are looked up: its gradient is summed before it is split.
Tensor table(const Scope& s, std::string_view full_name, Tensor parameter);

// x, whose rows are those of the batch, split as the batch is.
Tensor constrain_batch_sharding(const Scope& s, Tensor x);

// `count` layers of one kind, each on what the one before gave, unrolled or scanned as s.compute()
// says. `layer` is called with a scope of the layer's name: `kind` and its number ("layer_0" …), by
// which stacks of several kinds may lie in one scope. What layers take from outside is the same for
// all of them, and its gradient is a sum over them. What they carry may be several tensors; those
// whose rows are those of the first are split as the batch is.

using Layer = std::function<std::vector<Tensor>(const Scope& s, const std::vector<Tensor>& xs)>;
std::vector<Tensor> layer_stack(const Scope& s, std::string_view kind, std::int64_t count,
                                std::vector<Tensor> xs, const Layer& layer);
Tensor layer_stack(const Scope& s, std::string_view kind, std::int64_t count, Tensor x,
                   const std::function<Tensor(const Scope& s, Tensor x)>& layer);

// The same, where each layer also gives outputs that no other takes; they are handed out layer by
// layer.
using LayerStep = std::function<ScanStep(const Scope& s, const std::vector<Tensor>& xs)>;
struct LayerResults {
  std::vector<Tensor> carry;
  std::vector<std::vector<Tensor>> outputs;  // [layer][output]
};
LayerResults layer_stack_outputs(const Scope& s, std::string_view kind, std::int64_t count,
                                 std::vector<Tensor> xs, const LayerStep& layer);

}  // namespace smelt
