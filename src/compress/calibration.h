// Chooses the scale of static int8 activations (symmetric) from a histogram of the values seen in
// calibration.
#pragma once

#include <array>
#include <string_view>

#include "base/choice.h"
#include "compress/abs_histogram.h"

namespace smelt::compress {

// The rule for the clipping threshold; larger values are clipped to the largest int8 value.
enum class Calibration {
  minmax,      // the largest value seen
  percentile,  // the 99.999th percentile, rounded down to the edge of a bin
  // The threshold with the least KL divergence between the histogram and its quantization to 128
  // levels (Migacz, "8-bit inference with TensorRT", GTC 2017). Candidates are the upper edges of
  // the bins from the 128th on; of equal ones the last is chosen. Clipped values count in
  // the last bin. The first bin, which includes exact zeros, gets the count of the second.
  entropy,
  // The candidate with the least squared quantization error. Candidates are the largest value seen
  // times 1, 0.99, ..., 0.2.
  mse,
};
inline constexpr NamedValues<Calibration, 4> kCalibrations{{{"minmax", Calibration::minmax},
                                                            {"percentile", Calibration::percentile},
                                                            {"entropy", Calibration::entropy},
                                                            {"mse", Calibration::mse}}};

// Returns the clipping threshold for a histogram.
double threshold_of(const AbsHistogram& values, Calibration by);

// Returns threshold / 127, at least 2^-23. A value x is quantized to x / scale, rounded half to
// even.
float input_scale_for(double threshold);

}  // namespace smelt::compress
