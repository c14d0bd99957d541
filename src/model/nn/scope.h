// Named parameters, declared where they are used. A scope is a path; its text is the variable name
// in the original checkpoints, for example "bert/encoder/layer_0/attention/self/query/kernel".
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

namespace smelt::model {

// The initializer of a parameter.
struct Init {
  enum Kind { constant, truncated_normal, uniform } kind = constant;
  double value = 0;   // constant
  double stddev = 0;  // truncated_normal: truncated at +-2 stddev, not rescaled
  double limit = 0;   // uniform: in [-limit, limit]
};

// A parameter, or the stacked parameters of several layers.
struct Parameter {
  std::string name;  // "*" stands for the layer number of stacked parameters
  compiler::Tensor tensor;
  Init init;
  std::int64_t layers = 0;  // above 0: number of layers stacked along axis 0

  // Returns the names of the stacked parameters, and the shape of one.
  std::vector<std::string> names() const;
  compiler::Dims dims_of_one() const;
};

// Returns the name in one layer: "layer_*/kernel", 3 -> "layer_3/kernel".
std::string layer_name(std::string_view stacked, std::int64_t layer);
// Returns the names in all layers; if `layers` is 0, the name itself.
std::vector<std::string> layer_names(const std::string& name, std::int64_t layers);
// Returns the dimensions with a leading axis of `layers`; unchanged if `layers` is 0.
compiler::Dims stacked_dims(std::int64_t layers, compiler::Dims of_one);

// An int8 kernel [I,O] with one scale per output: kernel[i,o] = codes[o,i] * scales[o].
struct QuantizedKernel {
  compiler::Tensor codes;             // s8 [O,I]
  compiler::Tensor scales;            // f32 [O]
  compiler::Tensor input_scale = {};  // f32 [1]; only for RowScales::given
};
// How the input rows of a quantized matmul are scaled.
enum class RowScales {
  own,    // dynamic: each row has its own scale
  given,  // static: one scale for all rows, stored as a parameter
};
// Names of quantized kernels and how their input rows are scaled.
using CodedKernels = std::map<std::string, RowScales, std::less<>>;
// Return the names of the parameters that hold a quantized kernel's scales.
std::string scales_name(std::string_view kernel);
std::string input_scale_name(std::string_view kernel);

// The parameters of a model in order of declaration.
class Parameters {
 public:
  const std::vector<Parameter>& all() const { return list_; }
  // Returns null if there is no such parameter.
  const Parameter* find(std::string_view name) const;
  // Returns the parameters of the frozen second model (Scope::held()), or null if there is none.
  const Parameters* held() const { return held_.get(); }

 private:
  friend class Scope;
  std::vector<Parameter> list_;
  std::map<std::string, std::size_t, std::less<>> index_;
  std::unordered_map<compiler::Tensor, QuantizedKernel> coded_;  // by the dequantized tensor
  std::shared_ptr<Parameters> held_;
};

// The random keys of all places that draw random numbers (Scope::place()), derived from a seed. The
// keys are an argument of the program, so that one program works for all seeds.
struct SeedKeys {
  static constexpr std::size_t kMostPlaces = 64;  // the layers of a stack share their places

  compiler::Tensor words;           // u32 [2 * kMostPlaces]: two words per place
  std::vector<std::string> places;  // places that have drawn so far

  std::vector<std::uint32_t> of_seed(std::uint64_t seed) const;
};

// Where the tokens of packed rows come from (model/nn/packing.h), so that packed and padded rows
// draw the same numbers.
struct TokenOrigins {
  compiler::Tensor rows;       // s32 [R,S]: the number of a token's sequence in the whole batch
  compiler::Tensor positions;  // s32 [R,S]: the token's position in its sequence
};

// The source of random numbers (model/nn/random.h). Row i of a tensor is row first_row + i *
// row_stride of the whole batch, so that a device or micro-batch draws the same numbers as the
// whole batch would.
struct RandomSource {
  std::uint64_t seed = 0;
  compiler::Tensor step;         // s32 scalar
  compiler::Tensor stream = {};  // s32 scalar that separates independent draws; empty: one stream
  compiler::Tensor first_row = {};  // s32 scalar; empty: 0
  std::int64_t row_stride = 1;
  compiler::Tensor rows = {};  // s32 [B]: numbers of all rows, instead of first_row and row_stride
  std::optional<TokenOrigins> tokens = {};  // if the rows are packed
  // false in evaluation: dropout is off, and only the task itself may draw random numbers
  bool training = true;
  std::shared_ptr<SeedKeys> keys = {};  // null: keys come from `seed` and are constants
};

// How a stack of layers is compiled.
enum class Layers {
  unrolled,  // every layer is a copy of the operations
  scan,      // a loop over stacked parameters: compile time does not grow with depth
};

// How a model is computed. Except for quantization (in_codes, fake_quant), it affects neither
// parameter names nor, up to rounding, values.
struct ComputePolicy {
  // The type of activations and matmuls. Parameters, norms, softmax, losses and sums are f32.
  compiler::DType dtype = compiler::DType::f32;
  bool exact_products = false;  // compute f32 matmuls in full precision (HloForm)
  Layers layers = Layers::unrolled;
  compiler::RematPolicy save =
      compiler::RematPolicy::all;  // what a scanned layer stores for its backward pass
  // Computes dense layers with the same input as one matmul. Faster on CPUs; a TPU would copy the
  // slices of the result.
  bool joined_products = false;
  // Stores dropout masks for the backward pass, which is faster on CPUs. Otherwise they are
  // recomputed where they are used.
  bool stored_masks = false;
  // Stores attention scores for the backward pass. On a TPU they are recomputed: at 512 tokens this
  // costs 2 % more matmul work and saves a third of the memory of unrolled layers.
  bool stored_scores = true;
  // Derives the gradient of attention's softmax from the context instead of from all keys
  // (model/nn/attention.cpp), with fewer passes over the scores. No gain on CPUs.
  bool softmax_by_context = false;
  // Number of queries per attention block (model/nn/attention.h); 0: all.
  std::int64_t attention_rows = 0;
  // Maximum bytes of LM scores computed at a time on a device (model/nn/lm_head.h); 0: no limit.
  std::int64_t logits_bytes = 0;
  std::shared_ptr<const PartitionRules> partition = {};  // null: no sharding
  // Programs that each compute a part of the batch's rows (Parallelism::replicas).
  std::int64_t replicas = 1;
  // In training, number of sequential parts of a task with Task::splits_batch.
  std::int64_t micro_batches = 1;
  // Quantized kernels, which are stored as int8 parameters and use integer matmuls. Null: none.
  // Requires unrolled layers.
  std::shared_ptr<const CodedKernels> in_codes = {};
  // Emulates int8 matmuls within layers during training (model/nn/fake_quant.h).
  bool fake_quant = false;
};

// A position in the tree of parameter names, with the state needed to build the graph there.
class Scope {
 public:
  // Without a random source, or in evaluation, dropout is the identity.
  Scope(compiler::Graph& graph, Parameters& parameters, std::optional<RandomSource> random = {},
        ComputePolicy compute = {})
      : graph_(&graph), parameters_(&parameters), random_(random), compute_(std::move(compute)) {}

  Scope operator/(std::string_view name) const;
  // Returns the scope of layer `index` of a stack: path ".../layer_<index>", place ".../layer_*".
  Scope layer(std::string_view name, std::int64_t index) const;
  // Returns the scope of a scan of `count` layers with loop `body`: path ".../layer_*".
  Scope stacked(std::string_view name, std::int64_t count, compiler::ScanBody& body) const;

  // Returns the same scope for building inside a region, such as the body of a loop. `random` is
  // the random source there, because the region may work on other rows. The scope's parameters must
  // already be declared.
  Scope within(compiler::Graph& graph, std::optional<RandomSource> random) const;
  // Returns a scope that uses the same parameters a second time. `use` separates its random
  // numbers.
  Scope again(std::string_view use) const;
  // Return the same scope with RandomSource::rows or tokens set, if it has a random source.
  Scope with_rows(compiler::Tensor rows) const;
  Scope with_tokens(std::optional<TokenOrigins> tokens) const;
  // Returns the root scope of a frozen second model in the same graph, such as a teacher. Its
  // parameters have separate names and get no gradients, slots or dropout.
  Scope held(ComputePolicy compute) const;
  // Returns the same scope with ComputePolicy::fake_quant set.
  Scope fake_quantized() const;
  // Returns the same scope inside one shard of a mesh axis (per_shard()); the axis is removed from
  // its mesh.
  Scope shard_of(std::string_view axis) const;

  const std::string& path() const { return path_; }
  // The path with "*" for the layer number. Random numbers are keyed by it and by layer().
  const std::string& place() const { return place_; }
  compiler::Tensor layer() const { return layer_; }  // s32 scalar; empty outside a stack
  // Returns the value of layer() if layers are unrolled; nullopt in a scan and outside a stack.
  std::optional<std::int64_t> layer_index() const { return layer_index_; }
  compiler::Graph& graph() const { return *graph_; }
  const std::optional<RandomSource>& random_source() const { return random_; }
  bool training() const { return random_ && random_->training; }
  const ComputePolicy& compute() const { return compute_; }

  // Declares a new f32 parameter. If the kernel is quantized (ComputePolicy::in_codes), declares
  // the codes and returns the dequantized values. Declaring a name twice is a bug; see shared().
  compiler::Tensor parameter(std::string_view name, compiler::Dims dims, Init init) const;
  // Returns a parameter that was declared before, by its full name.
  compiler::Tensor shared(std::string_view full_name) const;
  // Returns the quantized form of a dequantized parameter, or null if it is not quantized.
  const QuantizedKernel* coded(compiler::Tensor kernel) const;

 private:
  Scope in_stack(std::string_view name, std::string_view label, compiler::Tensor number) const;
  const Parameter& find(std::string_view full_name) const;
  void declare(std::string full_name, compiler::Shape shape, Init init) const;
  // Returns the parameter gathered over fsdp for use.
  compiler::Tensor gathered(std::string_view full_name, compiler::Tensor tensor) const;

  compiler::Graph* graph_;
  Parameters* parameters_;
  std::optional<RandomSource> random_;
  ComputePolicy compute_;
  std::string path_, place_;
  compiler::Tensor layer_;
  std::optional<std::int64_t> layer_index_;
  compiler::ScanBody* body_ = nullptr;
  std::int64_t count_ = 0;
  bool again_ = false;  // parameter() returns already declared parameters
};

// Returns the parameter `full_name` for looking up its rows on a mesh. May add a sharding
// constraint to avoid slow or failing plans of XLA's partitioner; values do not change.
compiler::Tensor table(const Scope& s, std::string_view full_name, compiler::Tensor parameter);

// Shards the rows of x like the batch; x must have one row per example.
compiler::Tensor constrain_batch_sharding(const Scope& s, compiler::Tensor x);

// Applies `count` layers, each to the result of the previous one, unrolled or scanned as
// s.compute().layers says. `layer` is called with a scope named by `kind` and the layer number
// ("layer_0" …). Captured outer tensors are the same for all layers, and their gradients are
// summed. Layers may carry several tensors; tensors with as many rows as the first one are sharded
// like the batch.
using Layer = std::function<std::vector<compiler::Tensor>(const Scope& s,
                                                          const std::vector<compiler::Tensor>& xs)>;
std::vector<compiler::Tensor> layer_stack(const Scope& s, std::string_view kind, std::int64_t count,
                                          std::vector<compiler::Tensor> xs, const Layer& layer);
compiler::Tensor layer_stack(
    const Scope& s, std::string_view kind, std::int64_t count, compiler::Tensor x,
    const std::function<compiler::Tensor(const Scope& s, compiler::Tensor x)>& layer);

// Like layer_stack, but each layer also returns outputs, which are collected per layer.
using LayerStep =
    std::function<compiler::ScanStep(const Scope& s, const std::vector<compiler::Tensor>& xs)>;
// The final carry and the outputs of each layer.
struct LayerResults {
  std::vector<compiler::Tensor> carry;
  std::vector<std::vector<compiler::Tensor>> outputs;  // [layer][output]
};
LayerResults layer_stack_outputs(const Scope& s, std::string_view kind, std::int64_t count,
                                 std::vector<compiler::Tensor> xs, const LayerStep& layer);

}  // namespace smelt::model
