// Models that are cut: fewer layers, fewer neurons and heads in each. What is left are plain
// matrices of one width in a stack, so that any program that loads the model is faster with it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compress/prune_data.h"

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
  double ffn = 1;                   // share of each feed-forward's neurons that stays
  double heads = 1;                 // share of each attention's heads
  double macs = 1;                  // in the place of both: share of what a layer multiplies
  bool rescale = true;              // what stays of both makes up for the rest (mask_scales.h)
  PruneData data = {};              // what both are chosen by
};

struct Pruned {
  static constexpr std::int64_t kMostTold = 64;
  struct Stack {
    std::string what;  // "layers", "decoder layers"
    std::int64_t before = 0;
    std::vector<std::int64_t> kept;
  };
  struct Units {
    std::string what;                     // "neurons", "heads"
    std::int64_t before = 0, after = 0;   // of each layer
    std::vector<double> kept_importance;  // share, of each feed-forward or attention
    // Of each attention's heads, where there are at most kMostTold: how much the loss hangs on
    // each, and which stay.
    std::vector<std::vector<double>> importance = {};
    std::vector<std::vector<std::int64_t>> kept = {};
    // Of each product's output, as MaskScales has it; empty where nothing was rescaled.
    std::vector<double> lost_before = {}, lost = {};
    std::int64_t not_rescaled = 0;  // products for which least squares found no factors
  };
  std::vector<Stack> stacks;
  std::vector<Units> units;
  std::optional<double> macs = {};  // the share that is left, where it was asked for
  std::uint64_t parameters_before = 0, parameters = 0;
  std::uint64_t bytes_before = 0, bytes = 0;  // of all files of the folder
};

// Writes `to`, a Hugging Face folder of the same class. Neurons and heads are chosen at once, in
// the whole model, by how much the loss of `data` hangs on them (mask_fisher.h), how many of each
// as the job says or as most of that costs no more than it says (mac_budget.h); neurons are a
// multiple of 128 where there are so many (units.h). Of a BERT or an ELECTRA config.json lists the
// heads that are gone (checkpoint/interop/cut_heads.h). UsageError as
// open_source_folder() and write_compressed_folder() have it, where nothing is to be cut, for
// numbers that are no layers' or do not ascend, for more layers than there are, for shares without
// rows or rows without shares, and for a model that was cut before.
Pruned prune_model(const PruneJob& job);

// Whether `to` is what prune_model() has made of this job before, of a model with these weights.
bool is_pruned_so(const PruneJob& job);

}  // namespace smelt
