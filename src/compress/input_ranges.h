// Measures the value ranges of matmul inputs over the calibration data, without padding tokens.
//   C inputs of a matmul
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compress/abs_histogram.h"
#include "compress/row_pass.h"

namespace smelt::compress {

// One value for each input channel [C] of a matmul. The key is the name of its parameter.
using ChannelNumbers = std::map<std::string, std::vector<float>>;

// Returns max|x| of each channel.
ChannelNumbers channel_maxima(const model::Task& task, const std::vector<std::string>& parameters,
                              const RowPass& pass);

// Returns a histogram of |x| over all channels of each matmul, by parameter. Divides each channel
// by its factor first, if it has one. Passes over the data several times if the inputs of all
// matmuls do not fit into memory. Throws UsageError if an input is not finite.
std::map<std::string, AbsHistogram> input_histograms(const model::Task& task,
                                                     const std::vector<std::string>& parameters,
                                                     const ChannelNumbers& factors,
                                                     const RowPass& pass);

}  // namespace smelt::compress
