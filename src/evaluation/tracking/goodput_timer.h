// Goodput: the time of a run by category.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "base/clock.h"
#include "base/json.h"

namespace smelt::evaluation {

// Categories of time, as in ml-goodput (BadputType of AI-Hypercomputer/ml-goodput-measurement). The
// category `step` is productive time, which ml-goodput counts as goodput.
enum class GoodputBucket {
  step,
  device,       // opening the device
  preparation,  // data and initial weights
  compile,
  restore,
  input,  // waiting for a batch
  save,
  eval,  // evaluation during the run
  lost,  // steps after the last checkpoint of a killed run
  down,  // between the end of an unfinished run and its next start
  other
};
inline constexpr std::size_t kSpentKinds = static_cast<std::size_t>(GoodputBucket::other) + 1;

// Returns ml-goodput's name in lower case: "data_loading_sync".
std::string_view spent_name(GoodputBucket what);
// Returns a label for people: "waiting for input".
std::string_view spent_label(GoodputBucket what);

struct SpentTimes {
  std::array<double, kSpentKinds> seconds{};

  double& operator[](GoodputBucket what) { return seconds[static_cast<std::size_t>(what)]; }
  double operator[](GoodputBucket what) const { return seconds[static_cast<std::size_t>(what)]; }
  SpentTimes& operator+=(const SpentTimes& more);
  double total() const;
  double share(GoodputBucket what) const;  // share of the total; 0 if the total is 0
};

// Convert to and from JSON, by spent_name(). Writes only categories above 0; unknown names are read
// as `other`.
Json to_json(const SpentTimes& times);
SpentTimes spent_times(const Json& object);

// Measures the time spent in each category; one category is current at any moment. Not thread-safe.
class GoodputTimer {
 public:
  explicit GoodputTimer(GoodputBucket first) : now_(first) {}

  // Makes `what` the current category during its lifetime, and then restores the previous one.
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
  // Makes `what` the current category.
  void turn(GoodputBucket what);
  // Returns the times since the last call.
  SpentTimes take();

 private:
  GoodputBucket now_;
  Clock::time_point since_ = Clock::now();
  SpentTimes times_;
};

}  // namespace smelt::evaluation
