// Quantizes weights to int8 or int4, which take a quarter or an eighth of the bytes of f32 on disk.
// Programs that load the folder compute in floating point, or, with int8 activations, in integers.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/choice.h"
#include "base/json.h"
#include "compress/calibration.h"
#include "compress/prune_data.h"

namespace smelt::compress {

// The quality of a compressed model; higher is better. `choice` is the score on the rows that
// decide which matrices to quantize, `unbiased` the score on other rows.
struct FolderScore {
  double choice = 0, unbiased = 0;
};

// A limit on the loss of quality through quantization.
struct DropLimit {
  std::function<FolderScore(const std::string& folder)> score;
  double most = 0;      // maximum drop of FolderScore::choice
  bool forced = false;  // write the folder even if it loses more
  Json rows = {};       // description of the rows for compress.json
  // The flag and the hint for the error message if no folder meets the limit.
  std::string what = "--max-drop";
  std::string hint = "allow a larger drop, or write the folder anyway with --force";
};

// The type of the quantized weights.
enum class WeightType { int8, int4 };

// How the inputs of a matmul are quantized.
enum class Activations {
  floats,          // not quantized
  by_row,          // int8 with a dynamic scale per row
  by_input_scale,  // int8 with one static scale from calibration
};
inline constexpr NamedValues<Activations, 3> kActivations{
    {{"floats", Activations::floats},
     {"dynamic", Activations::by_row},
     {"static", Activations::by_input_scale}}};

// The settings of quantization.
struct QuantizeJob {
  std::string from = {}, to = {};
  WeightType weights = WeightType::int8;
  std::int64_t group = 128;  // int4: number of columns that share a scale
  // Calibration data for int4 rounding (gptq.h; without it values are rounded to nearest), input
  // scales (calibration.h) and SmoothQuant factors (smooth.h).
  PruneData rows = {.examples = 512, .what = "--calibrate"};
  bool embeddings = false;  // also quantize embedding tables, with a scale per row
  Activations activations = Activations::floats;
  Calibration calibration = Calibration::percentile;
  double smooth = 0;                   // exponent of SmoothQuant, for a T5; 0: off
  std::vector<std::string> keep = {};  // name patterns of modules that are not quantized
  std::optional<DropLimit> limit = {};
};

// Signal-to-noise ratio in dB below which a matrix is not used in int8 matmuls.
inline constexpr double kLeastSqnr = 20;

// Throws UsageError if options conflict. Does not open the model.
void check_quantize_job(const QuantizeJob& job);

// The outcome of quantization.
struct Quantized {
  struct Tensor {
    std::string name;
    double sqnr_db = 0;    // signal-to-quantization-noise ratio of all values
    double middle_db = 0;  // ratio with the median |x| of each row as signal (middle_to_noise_db())
  };
  std::vector<Tensor> tensors;                // quantized tensors, by name
  std::vector<std::string> kept;              // modules of matrices that are not quantized
  std::uint64_t bytes_before = 0, bytes = 0;  // of all files of the folder
  // With int8 activations: matrices left in floating point because of their noise, worst first.
  std::vector<std::string> too_coarse = {};
  // With static activations, by module: the largest |x| of its input and the clipping threshold.
  struct Range {
    double most = 0, threshold = 0;
  };
  std::map<std::string, Range> ranges = {};
  // With a limit: matrices that were left in floating point, worst first, and the scores of the
  // source and of the result.
  std::vector<std::string> went_back = {};
  FolderScore before = {}, after = {};
};

// Returns the smallest number from 0 to `most` for which `holds` is true, assuming that `holds` is
// monotonic. Tries 0, 1, 2, 4, ... up to `most`, then bisects. Returns nullopt if it is false for
// all of them.
std::optional<std::size_t> smallest_passing(std::size_t most,
                                            const std::function<bool(std::size_t)>& holds);

// Quantizes a model and writes `to`, a Hugging Face folder in compressed-tensors' format
// "int-quantized" (W8A16) or, for int4, "pack-quantized" (W4A16). Quantizes the matrices of
// attention and feed-forward in every layer, int8 with one scale per output channel
// (io/formats/int8_rows.h), but not pooler, head and biases. compress.json records the
// signal-to-noise ratio of each quantized matrix.
//
// With int8 activations (W8A8), matrices with a ratio below kLeastSqnr stay in floating point;
// static activation scales are measured on job.rows.
//
// With job.limit, the matrices with the lowest Tensor::middle_db stay in floating point, as few as
// smallest_passing() finds necessary to keep the drop of the score within the limit. If the drop is
// too large even with only one matrix quantized, throws UsageError; with limit->forced, quantizes
// the same matrices as without a limit.
//
// Also throws UsageError in the same cases as check_quantize_job(), open_source_folder() and
// write_compressed_folder(), if a pattern in job.keep matches no matrix, and if no matrix is left
// to quantize.
Quantized quantize_weights(const QuantizeJob& job);

}  // namespace smelt::compress
