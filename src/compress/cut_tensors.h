// Removal of layers from a model, by Hugging Face's parameter names.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/interop/stored_family.h"
#include "compress/source_folder.h"

namespace smelt::compress {

// The layers of an encoder or a decoder.
struct LayerStack {
  std::string what;    // "layers", "decoder layers"
  std::string prefix;  // prefix of its parameters up to the layer number: "bert.encoder.layer."
  std::string field;   // field of config.json with the number of layers
  std::int64_t layers = 0;
  checkpoint::LayerModules modules = {};  // an encoder's prunable modules; empty for a T5
};

// Returns the stacks of a model: encoder and decoder for a T5, one stack for any other model.
std::vector<LayerStack> layer_stacks(const SourceFolder& source);

// Returns `count` layer numbers out of `of`, evenly spaced from the first to the last; the first if
// `count` is 1. If the kinds of layers repeat with a `period`, as ModernBERT's global and local
// layers do, returns whole periods, so that each layer keeps its kind.
std::vector<std::int64_t> spread_layers(std::int64_t count, std::int64_t of,
                                        std::int64_t period = 1);

// Keeps only these layers, renumbers them from 0 and updates the config. Also keeps a T5's position
// biases, which all layers share and the first layer stores.
void keep_layers(CompressedFolder& folder, const LayerStack& stack,
                 const std::vector<std::int64_t>& kept);

}  // namespace smelt::compress
