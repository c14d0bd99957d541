// Structured pruning: removes layers, and neurons and heads within layers. The result has dense
// matrices of the same shapes in all layers, so it is faster in every program.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compress/prune_data.h"

namespace smelt::compress {

// The layers of a stack to keep: by number, or `count` evenly spaced ones.
struct LayerChoice {
  std::vector<std::int64_t> kept = {};
  std::optional<std::int64_t> count = {};
};

// The settings of structured pruning.
struct PruneJob {
  std::string from = {}, to = {};
  LayerChoice layers = {};          // of a T5: the encoder's
  LayerChoice decoder_layers = {};  // of a T5 only
  double ffn = 1;                   // share of the neurons of each feed-forward to keep
  double heads = 1;                 // share of the heads of each attention to keep
  double macs = 1;                  // instead of ffn and heads: share of the layers' MACs to keep
  bool rescale = true;              // rescale the remaining units (mask_scales.h)
  PruneData data = {};              // calibration data for the importance of units
};

// The outcome of pruning.
struct Pruned {
  // If a layer has more units of a kind than this, Units::importance and Units::kept are empty.
  static constexpr std::int64_t kMaxReportedUnits = 64;
  struct Stack {
    std::string what;  // "layers", "decoder layers"
    std::int64_t before = 0;
    std::vector<std::int64_t> kept;
  };
  struct Units {
    std::string what;                    // "neurons", "heads"
    std::int64_t before = 0, after = 0;  // per layer
    // share of importance kept, for each feed-forward or attention
    std::vector<double> kept_importance;
    // The importance of each head of each attention, and the heads kept; empty if there are more
    // than kMaxReportedUnits.
    std::vector<std::vector<double>> importance = {};
    std::vector<std::vector<std::int64_t>> kept = {};
    // Relative error of each matmul's output (MaskScales); empty without rescaling.
    std::vector<double> lost_before = {}, lost = {};
    std::int64_t not_rescaled = 0;  // matmuls for which least squares failed
  };
  std::vector<Stack> stacks;
  std::vector<Units> units;
  std::optional<double> macs = {};  // share of MACs kept, if job.macs was set
  std::uint64_t parameters_before = 0, parameters = 0;
  std::uint64_t bytes_before = 0, bytes = 0;  // of all files of the folder
};

// Prunes a model and writes `to`, a Hugging Face folder of the same class. Selects neurons and
// heads in one step on the original model, by their importance for the loss on `data`
// (mask_fisher.h). The job's shares or its MAC budget (mac_budget.h) determine how many are kept;
// the number of neurons is a multiple of 128 if the layer is large enough (units.h). config.json of
// a BERT, ELECTRA or RoBERTa lists the pruned heads (checkpoint/interop/cut_heads.h). Throws
// UsageError in the same cases as open_source_folder() and write_compressed_folder(), and:
//   - if nothing would be pruned, or the model is already pruned
//   - for invalid or unordered layer numbers, or more layers than exist
//   - for shares without data, or data without shares
Pruned prune_model(const PruneJob& job);

// Returns whether the folder job.to is the result of this job for a model with the same weights.
bool is_already_pruned(const PruneJob& job);

}  // namespace smelt::compress
