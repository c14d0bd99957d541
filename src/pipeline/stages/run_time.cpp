// Estimates the time of a recipe's run from the speed of this machine
// (pipeline/stages/run_needs.h).
#include <cmath>

#include "base/number_format.h"
#include "base/plural.h"
#include "base/str.h"
#include "pipeline/stages/run_needs.h"
#include "pjrt/client.h"
#include "pjrt/measured_speed.h"
#include "train/training_clock.h"

namespace smelt::pipeline {
namespace {

std::string long_time(double seconds) {
  constexpr double kHour = 3600, kDay = 24 * kHour;
  if (seconds < 2 * 60) return counted(std::lround(std::ceil(seconds)), "second");
  if (seconds < 2 * kHour) return str(std::lround(seconds / 60), " minutes");
  const bool days = seconds > 2 * kDay;
  return rounded(seconds / (days ? kDay : kHour), 1) + (days ? " days" : " hours");
}

// Speed of a training step relative to that of a single matmul, as measured
// (docs/explanation/performance-history.md).
constexpr double kShareOfProducts = 0.4;

}  // namespace

std::string time_text(const Recipe& r) {
  if (!r.program->step) return "not known before the data are made";
  if (r.train.seconds > 0)
    return str(train::hours_text(r.train.seconds), " of training, evaluations and saves included");
  if (r.train.device != "cpu") return "not known before the first steps";
  const double operations = static_cast<double>(r.train.steps) *
                            static_cast<double>(r.train.batch_size) * r.program->flops_per_example;
  const double speed = pjrt::measured_product_flops(*pjrt::open_device("cpu", 1));
  return str("about ", long_time(operations / speed / kShareOfProducts), ", if a step reaches ",
             std::lround(100 * kShareOfProducts), " % of the ", std::lround(speed / 1e9),
             " GFLOP/s of a single matmul on this machine");
}

}  // namespace smelt::pipeline
