// Which evaluation of a model is the best so far by one of its measures. Where the value lies
// between two runs is its user's affair.
#pragma once

#include <optional>
#include <string_view>

#include "model/train_step/report.h"

namespace smelt {

enum class Best { lowest, highest };

// A loss is best where it is lowest, all else where it is highest; a loss's name ends in "loss" or
// "error".
Best best_of(std::string_view measure);

class BestScore {
 public:
  explicit BestScore(Best best, std::optional<double> value = {}) : best_(best), value_(value) {}

  // A value that is not finite, or of no items, never is.
  bool is_beaten_by(const MeasuredValue& measured) const;
  bool is_beaten_by(double value) const;
  std::optional<double> value() const { return value_; }

  void keep(double value);
  // What was kept last could not be written.
  void take_back() { value_ = before_; }

 private:
  Best best_;
  std::optional<double> value_, before_;
};

}  // namespace smelt
