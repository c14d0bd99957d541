#include "cli/compat/electra_log.h"

#include <array>
#include <cmath>
#include <iomanip>
#include <map>
#include <sstream>

namespace smelt::cli {
namespace {

// Formats a duration as the original does: "5", "1:05", "10:00", "1:00:00", "2 days, 1:00:00".
std::string original_duration(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::nearbyint(seconds));
  const std::int64_t days = whole / 86400, hours = whole / 3600 % 24, minutes = whole / 60 % 60;
  std::ostringstream out;
  out << std::setfill('0');
  if (days > 0) out << days << (days == 1 ? " day, " : " days, ");
  if (days > 0 || hours > 0)
    out << hours << ":" << std::setw(2) << minutes << ":" << std::setw(2);
  else if (minutes > 0)
    out << minutes << ":" << std::setw(2);
  out << whole % 60;
  return out.str();
}

}  // namespace

std::string electra_log_line(const train::LogPoint& at) {
  const double step_seconds = at.seconds / static_cast<double>(at.step - at.first_step);
  std::ostringstream out;
  out << std::fixed << std::setprecision(1) << at.step << "/" << at.total << " = "
      << 100. * static_cast<double>(at.step) / static_cast<double>(at.total)
      << "%, SPS: " << 1 / step_seconds << ", ELAP: " << original_duration(at.seconds)
      << ", ETA: " << original_duration(static_cast<double>(at.total - at.step) * step_seconds)
      << std::setprecision(4) << " - loss: " << at.loss;
  return out.str();
}

std::string electra_results(const execution::Evaluation& e) {
  std::map<std::string, double> found{{"loss", e.loss}};
  for (const model::MeasuredValue& m : e.measures) found[m.name] = m.value;
  std::ostringstream out;
  out << std::setprecision(9);
  for (const char* name :
       {"disc_accuracy", "disc_auc", "disc_loss", "disc_precision", "disc_recall", "global_step",
        "loss", "masked_lm_accuracy", "masked_lm_loss", "sampled_masked_lm_accuracy"}) {
    const auto value = found.find(name);
    if (name == std::string_view("global_step"))
      out << name << " = " << e.global_step << "\n";
    else if (value != found.end())
      out << name << " = " << value->second << "\n";
  }
  return out.str();
}

}  // namespace smelt::cli
