#include "execution/inference/best_score.h"

#include <cmath>

#include "execution/inference/scorer.h"

namespace smelt::execution {

Best best_of(std::string_view measure) {
  const bool is_cost =
      measure.ends_with("loss") || measure.ends_with("error") || measure == kBitsPerCharacter;
  return is_cost ? Best::lowest : Best::highest;
}

bool BestScore::is_improved_by(double value) const {
  if (!std::isfinite(value)) return false;
  if (!value_) return true;
  return best_ == Best::lowest ? value < *value_ : value > *value_;
}

bool BestScore::is_improved_by(const model::MeasuredValue& measured) const {
  return measured.weight != 0 && is_improved_by(measured.value);
}

void BestScore::keep(double value) {
  before_ = value_;
  value_ = value;
}

}  // namespace smelt::execution
