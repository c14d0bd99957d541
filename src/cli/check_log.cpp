#include "cli/check_log.h"

#include <spdlog/spdlog.h>

#include "base/str.h"

namespace smelt {

CheckLog::CheckLog(std::string folder, Figures figures)
    : folder_(std::move(folder)), figures_(std::move(figures)) {}

void CheckLog::add(const TrainCheck& check) {
  std::vector<Scalar> scalars;
  for (const ParameterScale& p : check.parameters)
    scalars.push_back({str("params/", p.name, " ", tuple_text(p.dims)), static_cast<float>(p.rms)});
  for (const CheckedFigure& figure : figures_(check)) {
    spdlog::info("{} at step {}: {:f}", figure.name, check.step, figure.value);
    scalars.push_back({figure.tag, static_cast<float>(figure.value)});
  }
  if (!events_) events_.emplace(folder_, check.first_step + 1);
  events_->add(check.step, scalars);
}

}  // namespace smelt
