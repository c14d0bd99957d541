#include "train/training_clock.h"

#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "base/number_format.h"
#include "base/str.h"

namespace smelt::train {
namespace {

// The time between two readings is this share of the run's time, at most kLongestInterval seconds.
constexpr double kInterval = 1.0 / 500, kLongestInterval = 10;

}  // namespace

void TrainingClock::start(std::int64_t step, double seconds, Clock::time_point now) {
  start_ = now;
  step_ = step_read_ = next_ = step;
  seconds_ = seconds_read_ = seconds_at_start_ = seconds;
  per_step_ = per_step_read_ = 0;
  last_ = kUnknown;
}

std::string TrainingClock::read(std::int64_t step, Clock::time_point now) {
  const double seconds = seconds_at_start_ + std::chrono::duration<double>(now - start_).count();
  double per_step = per_step_read_;
  if (step > step_read_) {
    const double latest = (seconds - seconds_read_) / static_cast<double>(step - step_read_);
    // The lower of two values leaves out an evaluation between two readings.
    per_step = per_step_read_ > 0 ? std::min(latest, per_step_read_) : latest;
    per_step_read_ = latest;
  }
  const std::int64_t measured = std::max<std::int64_t>(1, step - step_read_);
  step_read_ = step;
  seconds_read_ = seconds;
  std::int64_t next = step + 1;
  Json last;
  if (per_step > 0) {
    const double interval = std::min(kLongestInterval, kInterval * total_);
    next = step + std::max<std::int64_t>(1, std::llround(interval / per_step));
    next = std::min(next, step + 2 * measured);  // a few steps do not predict the speed well
    // At least one step is left: the last step is evaluated and saved as such.
    const double left = std::max(1.0, std::round((total_ - seconds) / per_step));
    if (left <= static_cast<double>(next - step)) last = step + std::llround(left);
  } else if (seconds >= total_) {
    last = step + 1;
  }
  return Json{
      {"step", step}, {"seconds", seconds}, {"per_step", per_step}, {"next", next}, {"last", last}}
      .dump();
}

void TrainingClock::set(const std::string& reading) {
  const Json r = Json::parse(reading);
  step_ = r.at("step").get<std::int64_t>();
  seconds_ = r.at("seconds").get<double>();
  per_step_ = r.at("per_step").get<double>();
  last_ = r.at("last").is_null() ? kUnknown : r.at("last").get<std::int64_t>();
  next_ = last_ == kUnknown ? r.at("next").get<std::int64_t>() : kUnknown;
}

double TrainingClock::seconds_at(std::int64_t step) const {
  if (step >= last_) return total_;
  const double seconds = seconds_ + static_cast<double>(step - step_) * per_step_;
  return std::clamp(seconds, 0.0, total_);
}

std::string TrainingClock::progress_text(std::int64_t step) const {
  return str(percent(seconds_at(step) / total_), " of ", hours_text(total_));
}

std::string hours_text(double seconds) {
  const auto text = [](double count, const char* unit) {
    return str(significant(count, 4), " ", unit, count == 1 ? "" : "s");
  };
  if (seconds < 120) return text(seconds, "second");
  if (seconds < 3600 * 2 && std::fmod(seconds, 3600) != 0) return text(seconds / 60, "minute");
  return text(seconds / 3600, "hour");
}

}  // namespace smelt::train
