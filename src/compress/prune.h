// Models that are cut: fewer layers. What is left are plain matrices, so that any program that
// loads the model is faster with it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace smelt {

// Which layers of a stack stay: by their numbers, or so many, spread evenly.
struct LayerChoice {
  std::vector<std::int64_t> kept = {};
  std::optional<std::int64_t> count = {};
};

struct PruneJob {
  std::string from = {}, to = {};
  LayerChoice layers = {};          // a T5's encoder's
  LayerChoice decoder_layers = {};  // a T5's
};

struct Pruned {
  struct Stack {
    std::string what;  // "layers", "decoder layers"
    std::int64_t before = 0;
    std::vector<std::int64_t> kept;
  };
  std::vector<Stack> stacks;
  std::uint64_t parameters_before = 0, parameters = 0;
  std::uint64_t bytes_before = 0, bytes = 0;  // of all files of the folder
};

// Writes `to`, a Hugging Face folder of the same class. UsageError as open_source_folder() and
// write_compressed_folder() have it, where nothing is to be cut, for numbers that are no layers' or
// do not ascend, for more layers than there are, and for a model that was cut before.
Pruned prune_model(const PruneJob& job);

}  // namespace smelt
