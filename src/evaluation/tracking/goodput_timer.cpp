#include "evaluation/tracking/goodput_timer.h"

#include <algorithm>
#include <numeric>

namespace smelt::evaluation {
namespace {

struct SpentNames {
  std::string_view name, label;
};

// In the order of GoodputBucket.
constexpr std::array<SpentNames, kSpentKinds> kSpentNames{
    {{"step", "steps"},
     {"tpu_initialization", "opening the device"},
     {"training_prep", "preparation"},
     {"program_startup", "compiling"},
     {"unproductive_checkpoint_restore_time", "restoring"},
     {"data_loading_sync", "waiting for input"},
     {"unproductive_checkpoint_save_time", "saving"},
     {"custom_badput_events", "evaluation"},
     {"wasted_progress_from_disruption", "lost work"},
     {"infrastructure_recovery_from_disruption", "not running"},
     {"other", "other"}}};

}  // namespace

std::string_view spent_name(GoodputBucket what) {
  return kSpentNames[static_cast<std::size_t>(what)].name;
}
std::string_view spent_label(GoodputBucket what) {
  return kSpentNames[static_cast<std::size_t>(what)].label;
}

SpentTimes& SpentTimes::operator+=(const SpentTimes& more) {
  for (std::size_t i = 0; i < kSpentKinds; ++i) seconds[i] += more.seconds[i];
  return *this;
}

double SpentTimes::total() const { return std::accumulate(seconds.begin(), seconds.end(), 0.0); }

double SpentTimes::share(GoodputBucket what) const {
  const double all = total();
  return all > 0 ? (*this)[what] / all : 0;
}

Json to_json(const SpentTimes& times) {
  Json out = Json::object();
  for (std::size_t i = 0; i < kSpentKinds; ++i)
    if (times.seconds[i] > 0) out[std::string(kSpentNames[i].name)] = times.seconds[i];
  return out;
}

SpentTimes spent_times(const Json& object) {
  SpentTimes out;
  if (!object.is_object()) return out;
  for (const auto& [name, seconds] : object.items()) {
    const auto known = std::ranges::find(kSpentNames, name, &SpentNames::name);
    const std::size_t i =
        known == kSpentNames.end() ? kSpentKinds - 1 : std::size_t(known - kSpentNames.begin());
    if (seconds.is_number()) out.seconds[i] += seconds.get<double>();
  }
  return out;
}

void GoodputTimer::turn(GoodputBucket what) {
  const auto now = Clock::now();
  times_[now_] += std::chrono::duration<double>(now - since_).count();
  since_ = now;
  now_ = what;
}

SpentTimes GoodputTimer::take() {
  turn(now_);
  return std::exchange(times_, {});
}

}  // namespace smelt::evaluation
