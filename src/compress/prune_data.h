// Labelled rows for a model that becomes smaller: what units, codes and scales are chosen by.
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

namespace smelt {

struct PruneData {
  LabelledFiles rows = {};                 // rows.input empty: none are given
  std::optional<std::string> prefix = {};  // of a T5: before each text, if not its own
  std::int64_t seq_length = 0;      // tokens of a text; 0: 128, or as many as the model takes
  std::int64_t target_length = 64;  // of a T5's answer
  std::int64_t examples = 2048;     // at most
  std::int64_t batch_size = 16;
  std::uint64_t seed = 12345;  // which, and in which batches
  std::string device = "cpu";
  std::string what = "--input";  // the flag, in messages
};
// Which rows these are, for compress.json; `what` as it is.
Json said_rows(const PruneData& data);

// Those rows, read for a model.
class PruneRows {
 public:
  // UsageError for rows that cannot be read, labels that the model does not have, and lengths that
  // it does not take.
  PruneRows(const SourceFolder& source, const PruneData& data);
  ~PruneRows();
  PruneRows(const PruneRows&) = delete;
  PruneRows& operator=(const PruneRows&) = delete;

  // For each group, in their order, how much the loss hangs on each of its units (mask_fisher.h),
  // summed over its products.
  std::vector<std::vector<double>> importances(const std::vector<PruneGroup>& groups) const;
  // For each product of each group, in their order, factors of the units that the group keeps
  // (mask_scales.h).
  std::vector<MaskScales> scales(const std::vector<PruneGroup>& groups,
                                 const std::vector<std::vector<std::int64_t>>& kept) const;
  // As each_input_sums() (input_sums.h).
  void each_input(const std::vector<std::string>& parameters,
                  const std::function<void(InputSums sums)>& take) const;
  // As channel_maxima() and input_histograms() (input_ranges.h).
  ChannelNumbers channel_maxima(const std::vector<std::string>& parameters) const;
  std::map<std::string, AbsHistogram> histograms(const std::vector<std::string>& parameters,
                                                 const ChannelNumbers& factors) const;

 private:
  struct Opened;
  RowPass pass() const;
  std::unique_ptr<const Opened> opened_;
};

}  // namespace smelt
