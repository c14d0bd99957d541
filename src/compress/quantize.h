// Weights in eight bits, as storage: a fifth to a quarter of the bytes on disk and on the way
// there. Whoever loads the folder computes with floats again; what integer products gain is another
// matter.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace smelt {

struct QuantizeJob {
  std::string from = {}, to = {};
  bool embeddings = false;             // the tables, too, by row
  std::vector<std::string> keep = {};  // patterns of modules' names that stay as they are
};

struct Quantized {
  struct Tensor {
    std::string name;
    double sqnr_db = 0;  // of its values against those that its codes say
  };
  std::vector<Tensor> tensors;                // in eight bits now, by name
  std::vector<std::string> kept;              // matrices that are not, by module
  std::uint64_t bytes_before = 0, bytes = 0;  // of all files of the folder
};

// Writes `to`, a Hugging Face folder in compressed-tensors' format "int-quantized" (W8A16): the
// matrices of attention and feed-forward in every layer, each output channel by a scale of its own
// (format/int8_rows.h); not pooler, head and biases. Which codes lost how much stands in
// compress.json. UsageError as open_source_folder() and write_compressed_folder() have it, for a
// pattern that no module fits, and where nothing is left to quantize.
Quantized quantize_weights(const QuantizeJob& job);

}  // namespace smelt
