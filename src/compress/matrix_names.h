// Classifies the tensors of a Hugging Face folder by their names.
#pragma once

#include <string>
#include <string_view>

#include "compress/source_folder.h"

namespace smelt::compress {

inline constexpr std::string_view kWeight = ".weight";

// Returns "bert.pooler.dense" for "bert.pooler.dense.weight".
inline std::string module_of(const std::string& name) {
  return name.substr(0, name.size() - kWeight.size());
}

inline bool is_matrix(const std::string& name, const io::LazyTensor& tensor) {
  return name.ends_with(kWeight) && tensor.shape.rank() == 2 &&
         compiler::is_float(tensor.shape.dtype);
}
// Returns whether the name is that of a T5's table of position biases.
inline bool is_position_bias(const std::string& name) {
  return name.find("relative_attention_bias") != std::string::npos;
}
inline bool is_table(const std::string& name) {
  return name == "shared.weight" || name.ends_with("_embeddings.weight");
}
// Returns whether a matrix with this name belongs to attention or feed-forward.
inline bool is_in_layer(const std::string& name) {
  const bool has_number =
      name.find(".layer.") != std::string::npos || name.find(".layers.") != std::string::npos;
  return has_number && !is_position_bias(name);
}

// Returns whether the tensor is one of the redundant copies of a T5's embeddings that some programs
// write.
inline bool is_copy_of_table(const std::string& name, const SourceFolder& source) {
  return source.kind == CompressKind::t5 && name.ends_with(".embed_tokens.weight") &&
         source.tensors.contains("shared.weight");
}

}  // namespace smelt::compress
