// Tracks the best evaluation by one metric. The caller stores the best value between runs.
#pragma once

#include <optional>
#include <string_view>

#include "model/train_step/report.h"

namespace smelt::execution {

enum class Best { lowest, highest };

// Returns whether lower or higher is better: lower for names that end in "loss" or "error" and for
// bits_per_character, higher for all others.
Best best_of(std::string_view measure);

class BestScore {
 public:
  explicit BestScore(Best best, std::optional<double> value = {}) : best_(best), value_(value) {}

  // Returns whether the value is better than the best one. Values that are not finite, or that are
  // a mean over no items, are never better.
  bool is_improved_by(const model::MeasuredValue& measured) const;
  bool is_improved_by(double value) const;
  std::optional<double> value() const { return value_; }

  void keep(double value);
  // Undoes the last keep(). Call it if the new best value could not be written.
  void take_back() { value_ = before_; }

 private:
  Best best_;
  std::optional<double> value_, before_;
};

}  // namespace smelt::execution
