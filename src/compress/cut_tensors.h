// Fewer layers, by Hugging Face's names of parameters.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compress/source_folder.h"

namespace smelt {

// A stack of layers in a folder's names and config.
struct LayerStack {
  std::string what;    // "layers", "decoder layers"
  std::string prefix;  // of its layers' names, up to the number: "bert.encoder.layer."
  std::string field;   // of config.json, that says how many
  std::int64_t layers = 0;
};

// One of an encoder, two of a T5: its encoder's first.
std::vector<LayerStack> layer_stacks(const SourceFolder& source);

// `count` of so many, the first and the last among them and the others evenly between; the first of
// one.
std::vector<std::int64_t> spread_layers(std::int64_t count, std::int64_t of);

// Keeps the layers of these numbers, renumbered from 0, and says so in the config. A T5's position
// biases, which its first layer holds for all, stay.
void keep_layers(CompressedFolder& folder, const LayerStack& stack,
                 const std::vector<std::int64_t>& kept);

}  // namespace smelt
