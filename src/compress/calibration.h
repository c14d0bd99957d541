// From how large the values are that a product is given to the one scale by which they become codes
// of eight bits, symmetric about 0.
#pragma once

#include <array>
#include <string_view>

#include "base/choice.h"
#include "compress/abs_histogram.h"

namespace smelt {

// What is taken for the largest value; larger ones become the largest code.
enum class Calibration {
  minmax,      // the largest that was seen
  percentile,  // that which 99.999 % of the values do not exceed: the lower edge of its bin
  // That by which 128 levels say most of the histogram (Migacz, "8-bit inference with TensorRT",
  // GTC 2017): of each upper edge from the 128th bin's on the one with the least KL divergence from
  // what is left to that in levels, the last of equal ones. What is cut off is in the last bin;
  // the first bin, where exact zeros lie, counts as the second.
  entropy,
  mse,  // of the largest times 1, 0.99, … 0.2: the least sum of squares of what codes get wrong
};
inline constexpr NamedValues<Calibration, 4> kCalibrations{{{"minmax", Calibration::minmax},
                                                            {"percentile", Calibration::percentile},
                                                            {"entropy", Calibration::entropy},
                                                            {"mse", Calibration::mse}}};

double threshold_of(const AbsHistogram& values, Calibration by);

// threshold / 127, and never below 2^-23: a code is x / scale, rounded half to even.
float input_scale_for(double threshold);

}  // namespace smelt
