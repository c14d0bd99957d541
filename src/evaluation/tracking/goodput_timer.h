// What the time of a run goes into, category by category: goodput.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "base/clock.h"
#include "base/json.h"

namespace smelt {

// In ml-goodput's terms (BadputType of AI-Hypercomputer/ml-goodput-measurement); `step` is what it
// calls productive.
enum class GoodputBucket {
  step,
  device,       // opening it
  preparation,  // data, first weights
  compile,
  restore,
  input,  // waiting for a batch
  save,
  eval,  // checks within the run
  lost,  // steps that a killed run has made and no checkpoint holds
  down,  // between the end of a run that was not done and its next start
  other
};
inline constexpr std::size_t kSpentKinds = static_cast<std::size_t>(GoodputBucket::other) + 1;

// ml-goodput's name, in lower case: "data_loading_sync".
std::string_view spent_name(GoodputBucket what);
// A word or two for a person: "waiting for input".
std::string_view spent_label(GoodputBucket what);

struct SpentTimes {
  std::array<double, kSpentKinds> seconds{};

  double& operator[](GoodputBucket what) { return seconds[static_cast<std::size_t>(what)]; }
  double operator[](GoodputBucket what) const { return seconds[static_cast<std::size_t>(what)]; }
  SpentTimes& operator+=(const SpentTimes& more);
  double total() const;
  double share(GoodputBucket what) const;  // of the total; 0 where that is
};

// Those above 0, by spent_name(). What has no such name is taken for `other` when read.
Json to_json(const SpentTimes& times);
SpentTimes spent_times(const Json& object);

// At any moment one category is counted. Of one thread.
class GoodputTimer {
 public:
  explicit GoodputTimer(GoodputBucket first) : now_(first) {}

  // Counts `what` while it lives, then again what was counted before.
  class During {
   public:
    During(GoodputTimer& clock, GoodputBucket what) : clock_(clock), before_(clock.now_) {
      clock_.turn(what);
    }
    ~During() { clock_.turn(before_); }
    During(const During&) = delete;
    During& operator=(const During&) = delete;

   private:
    GoodputTimer& clock_;
    GoodputBucket before_;
  };
  [[nodiscard]] During during(GoodputBucket what) { return During(*this, what); }
  // From now on.
  void turn(GoodputBucket what);
  // Since the last call.
  SpentTimes take();

 private:
  GoodputBucket now_;
  Clock::time_point since_ = Clock::now();
  SpentTimes times_;
};

}  // namespace smelt
