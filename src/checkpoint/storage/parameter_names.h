// Names of parameters in the original checkpoint and in Hugging Face's.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/shape.h"
#include "io/formats/lazy_tensor.h"
#include "model/nn/state_names.h"

namespace smelt::checkpoint {

// A parameter's names and its shape.
struct ParameterName {
  std::string original;
  std::string hugging_face;
  compiler::Shape shape;    // in the original checkpoint; kernels are [in, out]
  bool transposed = false;  // whether Hugging Face stores it as [out, in]
};

// Removes the parts of a model that are missing. A part is a prefix of original names; it is
// removed if `is_there` is false for all of its parameters.
std::vector<ParameterName> without_missing_parts(
    std::span<const ParameterName> names, std::span<const std::string_view> parts,
    const std::function<bool(const ParameterName&)>& is_there);

// Whether `name` is training state other than a weight: an optimizer slot, which is named below its
// parameter ("bert/pooler/dense/bias/adam_m"), or a name with a prefix of model/nn/state_names.h.
template <class Tensors>
bool is_slot(const std::string& name, const Tensors& tensors) {
  if (model::is_beside_weights(name)) return true;
  const std::size_t slash = name.rfind('/');
  return slash != std::string::npos && tensors.contains(name.substr(0, slash));
}

// Renames layer norms with the numbered names of TensorFlow 2's Keras layers:
// "…/output/layer_normalization_7/gamma" becomes "…/output/LayerNorm/gamma".
io::LazyTensors with_layer_norm_names(io::LazyTensors tensors);

// A builder for a list of parameter names, in the order of the calls. A Part is a prefix in both
// naming schemes.
class ParameterNames {
 public:
  struct Part {
    std::string original, hugging_face;
  };

  void plain(const Part& part, compiler::Dims dims);
  // Adds a dense layer without bias.
  void kernel(const Part& part, std::int64_t in, std::int64_t out);
  void dense(const Part& part, std::int64_t in, std::int64_t out);
  void layer_norm(const Part& part, std::int64_t size);
  // Row counts of the embedding tables: vocabulary, token types and positions.
  struct TableRows {
    std::int64_t words, kinds, positions;
  };
  // Adds "<part>/word_embeddings" and the other two tables, each [rows, width], and their
  // LayerNorm.
  void embeddings(const Part& part, const TableRows& rows, std::int64_t width);
  struct EncoderSizes {
    std::int64_t layers, hidden, attention, intermediate;
  };
  // Adds the layers "<part>/encoder/layer_0", "<part>/encoder/layer_1", ...
  void encoder(const Part& part, const EncoderSizes& sizes);
  std::vector<ParameterName> take() { return std::move(names_); }

 private:
  std::vector<ParameterName> names_;
};

}  // namespace smelt::checkpoint
