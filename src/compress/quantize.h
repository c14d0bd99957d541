// Weights in eight bits, or products' in four: a fifth to a quarter of the bytes on disk and on the
// way there, or an eighth. Whoever loads the folder computes with floats again, or, where
// activations are rounded as they come, with integers.
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

namespace smelt {

// How right a folder is, the higher the better: by rows that a choice is made by, and by others,
// which tell what it is worth.
struct FolderScore {
  double choice = 0, told = 0;
};

// How much a folder may lose.
struct DropLimit {
  std::function<FolderScore(const std::string& folder)> score;
  double most = 0;      // of the score by which is chosen
  bool forced = false;  // a folder that loses more is written all the same
  Json rows = {};       // what the score is of, for compress.json
  // How it was asked for and what to do where nothing reaches it, for the message.
  std::string what = "--max-drop";
  std::string hint = "allow a larger drop, or write it all the same with --force";
};

enum class WeightCodes { int8, int4 };

// How what comes to a product becomes codes of eight bits.
enum class Activations {
  floats,          // it does not
  by_row,          // each row by its own scale, taken as it comes
  by_input_scale,  // all rows by one that is found beforehand
};
inline constexpr NamedValues<Activations, 3> kActivations{
    {{"floats", Activations::floats},
     {"dynamic", Activations::by_row},
     {"static", Activations::by_input_scale}}};

struct QuantizeJob {
  std::string from = {}, to = {};
  WeightCodes weights = WeightCodes::int8;
  std::int64_t group = 128;  // of four bits: columns that share a scale
  // By which codes of four bits are chosen (gptq.h; none: the nearest), scales of inputs
  // (calibration.h) and factors of channels (smooth.h).
  PruneData rows = {.examples = 512, .what = "--calibrate"};
  bool embeddings = false;  // the tables, too, by row
  Activations activations = Activations::floats;
  Calibration calibration = Calibration::percentile;
  double smooth = 0;  // of a T5, SmoothQuant's exponent; 0: channels stay as they are
  std::vector<std::string> keep = {};  // patterns of modules' names that stay as they are
  std::optional<DropLimit> limit = {};
};

// Signal to noise, in dB, below which a matrix is not multiplied as codes.
inline constexpr double kLeastSqnr = 20;

// UsageError for what does not go together, whatever the model.
void check_codes(const QuantizeJob& job);

struct Quantized {
  struct Tensor {
    std::string name;
    double sqnr_db = 0;    // of its values against those that its codes say
    double middle_db = 0;  // the same of each row's middle value (middle_to_noise_db())
  };
  std::vector<Tensor> tensors;                // in eight bits now, by name
  std::vector<std::string> kept;              // matrices that are not, by module
  std::uint64_t bytes_before = 0, bytes = 0;  // of all files of the folder
  std::vector<std::string> too_coarse = {};   // with activations: floats still, worst first
  // Of by_input_scale, by module: the largest |x| that came to it, and what is taken for that.
  struct Range {
    double most = 0, threshold = 0;
  };
  std::map<std::string, Range> ranges = {};
  // With a limit: matrices that are floats again, worst first, and the scores of source and folder.
  std::vector<std::string> went_back = {};
  FolderScore before = {}, after = {};
};

// Of 0 to `most` the least number that holds, as far as it was asked: of 0, 1, 2, 4, … and `most`
// until one does, then of halves between that and the last that did not. nullopt: none does.
std::optional<std::size_t> least_that_holds(std::size_t most,
                                            const std::function<bool(std::size_t)>& holds);

// Writes `to`, a Hugging Face folder in compressed-tensors' format "int-quantized" (W8A16): the
// matrices of attention and feed-forward in every layer, each output channel by a scale of its own
// (io/formats/int8_rows.h); not pooler, head and biases. Which codes lost how much stands in
// compress.json. With activations (W8A8) a matrix whose codes have less than kLeastSqnr stays as it
// is; by_input_scale takes scales of what job.rows give. Four bits are of format "pack-quantized"
// (W4A16). With a limit, what lost most (middle_db) goes back to floats, worst first, as many as
// least_that_holds() says; where one matrix in codes is too much there is a UsageError, and nothing
// is written unless it is forced, which takes all to codes. UsageError as open_source_folder() and
// write_compressed_folder() have it, for a pattern that no module fits, and where nothing is left
// to quantize, or rows that are wanted, or none, are not given.
Quantized quantize_weights(const QuantizeJob& job);

}  // namespace smelt
