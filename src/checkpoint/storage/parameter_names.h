// Parameters under their two names: the original checkpoint's and Hugging Face's.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/shape.h"
#include "io/formats/lazy_tensor.h"
#include "model/nn/state_names.h"

namespace smelt {

struct ParameterName {
  std::string original;
  std::string hugging_face;
  Shape shape;              // of the original: kernels are [in, out]
  bool transposed = false;  // Hugging Face stores [out, in]
};

// Without those of each part, which begins originals' names, of which none is there.
std::vector<ParameterName> without_missing_parts(
    std::span<const ParameterName> names, std::span<const std::string_view> parts,
    const std::function<bool(const ParameterName&)>& is_there);

// What a run keeps beside its weights: "bert/pooler/dense/bias/adam_m", for a slot stands below its
// parameter, and what begins as model/nn/state_names.h says.
template <class Tensors>
bool is_slot(const std::string& name, const Tensors& tensors) {
  if (is_beside_weights(name)) return true;
  const std::size_t slash = name.rfind('/');
  return slash != std::string::npos && tensors.contains(name.substr(0, slash));
}

// Renames the LayerNorms that Keras layers of TensorFlow 2 numbered, in TensorFlow's names:
// "…/output/layer_normalization_7/gamma" becomes "…/output/LayerNorm/gamma".
LazyTensors with_layer_norm_names(LazyTensors tensors);

// Collects them in the order of the calls. A part has an original name and Hugging Face's.
class ParameterNames {
 public:
  struct Part {
    std::string original, hugging_face;
  };

  void plain(const Part& part, Dims dims);
  void dense(const Part& part, std::int64_t in, std::int64_t out);
  void layer_norm(const Part& part, std::int64_t size);
  // "<part>/word_embeddings" and the other tables [rows, width], and their norm.
  struct TableRows {
    std::int64_t words, kinds, positions;
  };
  void embeddings(const Part& part, const TableRows& rows, std::int64_t width);
  // "<part>/encoder/layer_0" and so on.
  struct EncoderSizes {
    std::int64_t layers, hidden, attention, intermediate;
  };
  void encoder(const Part& part, const EncoderSizes& sizes);
  std::vector<ParameterName> take() { return std::move(names_); }

 private:
  std::vector<ParameterName> names_;
};

}  // namespace smelt
