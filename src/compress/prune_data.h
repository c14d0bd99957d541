// Calibration data for compression: labelled rows that determine which units, quantized values and
// scales are chosen.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "compress/input_ranges.h"
#include "compress/input_sums.h"
#include "compress/mask_scales.h"
#include "compress/source_folder.h"
#include "compress/units.h"
#include "data/preprocess/labelled_rows.h"

namespace smelt::compress {

// The rows to use and their encoding.
struct PruneData {
  data::LabelledFiles rows = {};           // rows.input is empty without calibration data
  std::optional<std::string> prefix = {};  // T5: text before each input; default: the model's own
  std::int64_t seq_length = 0;      // tokens of a text; 0: 128, or the model's maximum if less
  std::int64_t target_length = 64;  // tokens of a T5's output
  std::int64_t examples = 2048;     // maximum number of examples
  std::int64_t batch_size = 16;
  std::uint64_t seed = 12345;  // of the selection and order of examples
  std::string device = "cpu";
  std::string what = "--input";  // flag name for error messages
};
// Returns a JSON description of the rows for compress.json.
Json rows_json(const PruneData& data);

// The rows, encoded for a model, and the model's weights in memory.
class PruneRows {
 public:
  // Throws UsageError if the rows cannot be read, a label is unknown to the model or a length is
  // not supported.
  PruneRows(const SourceFolder& source, const PruneData& data);
  ~PruneRows();
  PruneRows(const PruneRows&) = delete;
  PruneRows& operator=(const PruneRows&) = delete;

  // Returns the importance of each unit of each group (mask_fisher.h), summed over the group's
  // matmuls.
  std::vector<std::vector<double>> importances(const std::vector<PruneGroup>& groups) const;
  // Returns the scaling factors for each matmul of each group, for the units that are kept
  // (mask_scales.h).
  std::vector<MaskScales> scales(const std::vector<PruneGroup>& groups,
                                 const std::vector<std::vector<std::int64_t>>& kept) const;
  // Calls each_input_sums() on these rows (input_sums.h).
  void each_input(const std::vector<std::string>& parameters,
                  const std::function<void(InputSums sums)>& take) const;
  // Call channel_maxima() and input_histograms() on these rows (input_ranges.h).
  ChannelNumbers channel_maxima(const std::vector<std::string>& parameters) const;
  std::map<std::string, AbsHistogram> histograms(const std::vector<std::string>& parameters,
                                                 const ChannelNumbers& factors) const;

 private:
  struct Opened;
  RowPass pass() const;
  std::unique_ptr<const Opened> opened_;
};

}  // namespace smelt::compress
