// How large the numbers are that products are given, of tokens that are no padding.
//   C inputs of a product
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compress/abs_histogram.h"
#include "compress/row_pass.h"

namespace smelt {

// Of each input of a product, [C], by the product's parameter.
using ChannelNumbers = std::map<std::string, std::vector<float>>;

// max|x| of each.
ChannelNumbers channel_maxima(const Task& task, const std::vector<std::string>& parameters,
                              const RowPass& pass);

// Of all inputs of each product, by its parameter, each divided by its factor where there are any;
// as many products at a time as fit into memory, each time by a pass over all rows. UsageError for
// an input that is not finite.
std::map<std::string, AbsHistogram> input_histograms(const Task& task,
                                                     const std::vector<std::string>& parameters,
                                                     const ChannelNumbers& factors,
                                                     const RowPass& pass);

}  // namespace smelt
