#include "compress/smooth.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "checkpoint/storage/lazy_files.h"
#include "compress/product_inputs.h"
#include "compress/prune_data.h"
#include "compress/scaled_tensor.h"

namespace smelt::compress {
namespace {

constexpr const char *kNorm = "layer_norm.weight", *kOutput = "DenseReluDense.wo.weight";
constexpr float kLeast = 1e-5F;

// A tensor whose rows produce channels, and the matrices whose columns consume them.
struct Fold {
  std::string producer;
  std::vector<std::string> consumers;
};

// Returns the matrix whose rows are scaled to scale the neurons: wi, because ReLU commutes with
// positive factors, or wi_1 of a gated feed-forward, which has no activation.
std::string producer_of_neurons(const std::string& output, const io::LazyTensors& tensors) {
  const std::string at = output.substr(0, output.size() - std::string_view("wo.weight").size());
  const std::string gated = at + "wi_1.weight";
  return tensors.contains(gated) ? gated : at + "wi.weight";
}

// Returns the matrices that consume the output of a norm, such as
// "encoder.block.0.layer.0.layer_norm.weight". Keys and values of the decoder's cross-attention
// consume the encoder's last norm.
std::vector<std::string> consumers_of(const std::string& norm, const io::LazyTensors& tensors) {
  const std::string layer = norm.substr(0, norm.size() - std::string_view(kNorm).size());
  std::vector<std::string> out;
  for (const auto& [name, tensor] : tensors) {
    const auto is_one_of = [&](std::initializer_list<const char*> ends) {
      return std::ranges::any_of(ends, [&](const char* end) { return name.ends_with(end); });
    };
    const bool of_encoder = is_one_of({"EncDecAttention.k.weight", "EncDecAttention.v.weight"});
    const bool takes = norm == "encoder.final_layer_norm.weight"
                           ? of_encoder
                           : name.starts_with(layer) && !of_encoder &&
                                 is_one_of({".q.weight", ".k.weight", ".v.weight", ".wi.weight",
                                            ".wi_0.weight", ".wi_1.weight"});
    if (takes) out.push_back(name);
  }
  return out;
}

// Returns the folds of the neurons of every feed-forward, then those of the norms. The order
// matters: applying the former scales matrices (wi or wi_1) whose column maxima determine the
// factors of the latter.
std::vector<Fold> folds_of(const io::LazyTensors& tensors) {
  std::vector<Fold> out;
  for (const auto& [name, tensor] : tensors)
    if (name.ends_with(kOutput)) out.push_back({producer_of_neurons(name, tensors), {name}});
  for (const auto& [name, tensor] : tensors)
    if (name.ends_with(kNorm) && name != "decoder.final_layer_norm.weight")
      out.push_back({name, consumers_of(name, tensors)});
  return out;
}

std::string kernel_of_weight(const std::string& name) {
  return kernel_of(name.substr(0, name.size() - std::string_view(".weight").size()));
}

// Returns max|W_j| over the matrices.
std::vector<float> column_maxima(const Fold& fold, const io::LazyTensors& tensors) {
  const io::LazyTensor& first = tensors.at(fold.consumers.front());
  std::vector<float> out(static_cast<std::size_t>(first.shape.dims.at(1)));
  for (const std::string& name : fold.consumers) {
    const auto values = checkpoint::read_values<float>(
        checkpoint::as_dtype(tensors.at(name), compiler::DType::f32));
    for (std::size_t i = 0; i < values.size(); ++i)
      out[i % out.size()] = std::max(out[i % out.size()], std::abs(values[i]));
  }
  return out;
}

std::vector<float> factors_by(const std::vector<float>& inputs, const std::vector<float>& weights,
                              double alpha) {
  CHECK(inputs.size() == weights.size(), inputs.size(), " ", weights.size());
  std::vector<float> out(inputs.size(), 1);
  for (std::size_t j = 0; j < out.size(); ++j)
    if (inputs[j] > 0 && weights[j] > 0)
      out[j] = std::max(
          static_cast<float>(std::pow(inputs[j], alpha) / std::pow(weights[j], 1 - alpha)), kLeast);
  return out;
}

void apply(const Fold& fold, const std::vector<float>& factors, io::LazyTensors& tensors) {
  std::vector<float> inverse;
  for (const float factor : factors) inverse.push_back(1 / factor);
  io::LazyTensor& producer = tensors.at(fold.producer);
  producer = with_scaled_rows(producer, inverse);
  for (const std::string& name : fold.consumers) {
    io::LazyTensor& consumer = tensors.at(name);
    consumer = with_scaled_columns(consumer, factors);
  }
}

}  // namespace

ChannelNumbers smooth(SourceFolder& source, const PruneRows& rows, double alpha) {
  if (source.kind != CompressKind::t5)
    throw UsageError(
        str("compress: --smooth supports only T5 models, and ", source.where, " is an encoder"),
        "remove --smooth, or use a T5");
  const std::vector<Fold> folds = folds_of(source.tensors);
  std::vector<std::string> parameters;
  for (const Fold& fold : folds) parameters.push_back(kernel_of_weight(fold.consumers.front()));
  const ChannelNumbers most = rows.channel_maxima(parameters);
  ChannelNumbers out;
  for (std::size_t i = 0; i < folds.size(); ++i) {
    const auto factors =
        factors_by(most.at(parameters[i]), column_maxima(folds[i], source.tensors), alpha);
    apply(folds[i], factors, source.tensors);
    for (const std::string& name : folds[i].consumers) out[kernel_of_weight(name)] = factors;
  }
  return out;
}

}  // namespace smelt::compress
