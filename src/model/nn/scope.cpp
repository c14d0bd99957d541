#include "model/nn/scope.h"

#include "base/error.h"
#include "compiler/ops/ops.h"

namespace smelt::model {

using compiler::constant;
using compiler::convert;
using compiler::DimAxes;
using compiler::Dims;
using compiler::DType;
using compiler::Graph;
using compiler::reshape;
using compiler::scan;
using compiler::ScanBody;
using compiler::ScanStep;
using compiler::Shape;
using compiler::sharding_constraint;
using compiler::slice_axis;
using compiler::Tensor;
using compiler::transpose;
namespace {

std::string joined_path(const std::string& path, std::string_view name) {
  return path.empty() ? std::string(name) : str(path, "/", name);
}

}  // namespace

std::string layer_name(std::string_view stacked, std::int64_t layer) {
  std::string out(stacked);
  const auto star = out.find('*');
  CHECK(star != std::string::npos, stacked, " is not the name of a stacked parameter");
  return out.replace(star, 1, str(layer));
}

std::vector<std::string> layer_names(const std::string& name, std::int64_t layers) {
  if (layers == 0) return {name};
  std::vector<std::string> out;
  for (std::int64_t i = 0; i < layers; ++i) out.push_back(layer_name(name, i));
  return out;
}

Dims stacked_dims(std::int64_t layers, Dims of_one) {
  if (layers > 0) of_one.insert(of_one.begin(), layers);
  return of_one;
}

std::string scales_name(std::string_view kernel) { return str(kernel, "_scales"); }

std::string input_scale_name(std::string_view kernel) { return str(kernel, "_input_scale"); }

std::vector<std::string> Parameter::names() const { return layer_names(name, layers); }

Dims Parameter::dims_of_one() const {
  const Dims& dims = tensor.dims();
  return {dims.begin() + (layers > 0 ? 1 : 0), dims.end()};
}

const Parameter* Parameters::find(std::string_view name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &list_[found->second];
}

Scope Scope::operator/(std::string_view name) const {
  Scope inner = *this;
  inner.path_ = joined_path(path_, name);
  inner.place_ = joined_path(place_, name);
  return inner;
}

Scope Scope::layer(std::string_view name, std::int64_t index) const {
  Scope inner =
      in_stack(name, str(index), constant(*graph_, static_cast<double>(index), DType::s32));
  inner.layer_index_ = index;
  return inner;
}

Scope Scope::in_stack(std::string_view name, std::string_view label, Tensor number) const {
  CHECK(!layer_, path_, ": a stack of layers within a layer");
  Scope inner = *this;
  inner.path_ = joined_path(path_, str(name, "_", label));
  inner.place_ = joined_path(place_, str(name, "_*"));
  inner.layer_ = number;
  return inner;
}

Scope Scope::stacked(std::string_view name, std::int64_t count, ScanBody& body) const {
  Scope inner = in_stack(name, "*", body.index());
  inner.graph_ = &body.graph();
  inner.body_ = &body;
  inner.count_ = count;
  return inner;
}

Scope Scope::within(Graph& graph, std::optional<RandomSource> random) const {
  Scope inner = *this;
  inner.graph_ = &graph;
  inner.random_ = random;
  inner.again_ = true;
  return inner;
}

Scope Scope::again(std::string_view use) const {
  Scope inner = *this;
  inner.place_ = joined_path(place_, use);
  inner.again_ = true;
  return inner;
}

Scope Scope::with_rows(Tensor rows) const {
  Scope out = *this;
  if (out.random_) out.random_->rows = rows;
  return out;
}

Scope Scope::with_tokens(std::optional<TokenOrigins> tokens) const {
  Scope out = *this;
  if (out.random_) out.random_->tokens = tokens;
  return out;
}

Scope Scope::held(ComputePolicy compute) const {
  if (!parameters_->held_) parameters_->held_ = std::make_shared<Parameters>();
  Scope out(*graph_, *parameters_->held_, {}, std::move(compute));
  out.again_ = again_;
  return out;
}

Scope Scope::fake_quantized() const {
  Scope out = *this;
  out.compute_.fake_quant = true;
  return out;
}

Scope Scope::shard_of(std::string_view axis) const {
  CHECK(compute_.partition != nullptr);
  PartitionRules partition = *compute_.partition;
  std::erase_if(partition.mesh, [&](const auto& one) { return one.first == axis; });
  partition.of_shard = true;
  Scope inner = *this;
  inner.compute_.partition = std::make_shared<const PartitionRules>(std::move(partition));
  return inner;
}

Tensor Scope::parameter(std::string_view name, Dims dims, Init init) const {
  const std::string full_name = joined_path(path_, name);
  if (again_ && body_) return gathered(full_name, body_->slice(find(full_name).tensor));
  if (again_) return shared(full_name);
  if (compute_.in_codes && compute_.in_codes->contains(full_name)) {
    CHECK(!body_ && dims.size() == 2, full_name, " cannot be quantized");
    declare(full_name, {DType::s8, {dims[1], dims[0]}}, init);
    declare(scales_name(full_name), {DType::f32, {dims[1]}}, {});
    if (compute_.in_codes->find(full_name)->second == RowScales::given)
      declare(input_scale_name(full_name), {DType::f32, {1}}, {});
    return shared(full_name);
  }
  declare(full_name, {DType::f32, stacked_dims(count_, std::move(dims))}, init);
  const Tensor tensor = find(full_name).tensor;
  return gathered(full_name, body_ ? body_->slice(tensor) : tensor);
}

void Scope::declare(std::string full_name, Shape shape, Init init) const {
  CHECK(!parameters_->index_.contains(full_name), full_name, " is declared twice");
  const Tensor tensor = (body_ ? body_->outer() : *graph_).argument(std::move(shape));
  parameters_->index_[full_name] = parameters_->list_.size();
  parameters_->list_.push_back({std::move(full_name), tensor, init, count_});
}

Tensor Scope::shared(std::string_view full_name) const {
  // Capture the parameter before any other operation, so that the operations on it are inside the
  // region, and so are their gradients.
  const Tensor held = graph_->capture(find(full_name).tensor);
  if (held.dtype() != DType::s8) return gathered(full_name, held);
  QuantizedKernel kernel{held, graph_->capture(find(scales_name(full_name)).tensor)};
  if (const Parameter* given = parameters_->find(input_scale_name(full_name)))
    kernel.input_scale = graph_->capture(given->tensor);
  const Tensor floats =
      transpose(convert(held, DType::f32) * reshape(kernel.scales, {held.dim(0), 1}), {1, 0});
  parameters_->coded_.emplace(floats, kernel);
  return floats;
}

const QuantizedKernel* Scope::coded(Tensor kernel) const {
  const auto found = parameters_->coded_.find(kernel);
  return found == parameters_->coded_.end() ? nullptr : &found->second;
}

Tensor Scope::gathered(std::string_view full_name, Tensor tensor) const {
  if (!compute_.partition || compute_.partition->mesh.empty()) return tensor;
  const PartitionRules& p = *compute_.partition;
  const auto use = p.in_use(full_name, tensor.rank()), rest = p.at_rest(full_name, tensor.rank());
  return use == rest ? tensor : sharding_constraint(tensor, use, rest);
}

Tensor table(const Scope& s, std::string_view full_name, Tensor parameter) {
  const PartitionRules* p = s.compute().partition.get();
  if (p == nullptr) return parameter;
  // In a shard XLA's partitioner fails an internal check and aborts if another axis splits the
  // table.
  if (p->of_shard && p->mesh.size() > 1)
    return sharding_constraint(parameter, DimAxes(parameter.dims().size()));
  // If two axes shard the rows, XLA's partitioner would gather all rows of the gradient on every
  // device. With one axis it uses a cheaper all-to-all.
  if (p->row_axes().size() < 2) return parameter;
  return sharding_constraint(parameter, p->in_use(full_name, parameter.rank()));
}

Tensor constrain_batch_sharding(const Scope& s, Tensor x) {
  if (!s.compute().partition || s.compute().partition->mesh.empty()) return x;
  DimAxes axes(x.dims().size());
  axes[0] = s.compute().partition->row_axes();
  return sharding_constraint(x, axes);
}

const Parameter& Scope::find(std::string_view full_name) const {
  const Parameter* parameter = parameters_->find(full_name);
  CHECK(parameter != nullptr, full_name, " is not declared");
  return *parameter;
}

namespace {

std::vector<Tensor> shard_rows(const Scope& s, std::vector<Tensor> xs) {
  const auto has_rows = [rows = xs[0].dim(0)](Tensor x) {
    return x.rank() > 0 && x.dim(0) == rows;
  };
  for (Tensor& x : xs)
    if (has_rows(x)) x = constrain_batch_sharding(s, x);
  return xs;
}

ScanStep shard_step_rows(const Scope& s, ScanStep step) {
  step.carry = shard_rows(s, std::move(step.carry));
  if (!step.outputs.empty()) step.outputs = shard_rows(s, std::move(step.outputs));
  return step;
}

// Splits the stacked outputs [count, …] of a loop into the outputs of each layer.
std::vector<std::vector<Tensor>> layer_by_layer(const std::vector<Tensor>& stacked,
                                                std::int64_t count) {
  std::vector<std::vector<Tensor>> out(static_cast<std::size_t>(count));
  for (const Tensor& all : stacked)
    for (std::int64_t i = 0; i < count; ++i)
      out[static_cast<std::size_t>(i)].push_back(
          reshape(slice_axis(all, 0, i, i + 1), {all.dims().begin() + 1, all.dims().end()}));
  return out;
}

}  // namespace

LayerResults layer_stack_outputs(const Scope& s, std::string_view kind, std::int64_t count,
                                 std::vector<Tensor> xs, const LayerStep& layer) {
  if (s.compute().layers == Layers::unrolled) {
    LayerResults out{.carry = std::move(xs), .outputs = {}};
    for (std::int64_t i = 0; i < count; ++i) {
      ScanStep step = shard_step_rows(s, layer(s.layer(kind, i), out.carry));
      out.carry = std::move(step.carry);
      out.outputs.push_back(std::move(step.outputs));
    }
    return out;
  }
  const ScanStep all = scan(s.graph(), count, xs, s.compute().save,
                            [&](ScanBody& body, std::span<const Tensor> carry) -> ScanStep {
                              const Scope inner = s.stacked(kind, count, body);
                              const std::vector<Tensor> before =
                                  shard_rows(inner, {carry.begin(), carry.end()});
                              return shard_step_rows(inner, layer(inner, before));
                            });
  return {.carry = all.carry, .outputs = layer_by_layer(all.outputs, count)};
}

std::vector<Tensor> layer_stack(const Scope& s, std::string_view kind, std::int64_t count,
                                std::vector<Tensor> xs, const Layer& layer) {
  return layer_stack_outputs(
             s, kind, count, std::move(xs),
             [&](const Scope& inner, const std::vector<Tensor>& before) -> ScanStep {
               return {.carry = layer(inner, before)};
             })
      .carry;
}

Tensor layer_stack(const Scope& s, std::string_view kind, std::int64_t count, Tensor x,
                   const std::function<Tensor(const Scope& s, Tensor x)>& layer) {
  return layer_stack(s, kind, count, std::vector{x},
                     [&](const Scope& inner, const std::vector<Tensor>& xs) {
                       return std::vector{layer(inner, xs[0])};
                     })[0];
}

}  // namespace smelt::model
