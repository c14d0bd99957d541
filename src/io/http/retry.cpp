#include "io/http/retry.h"

#include <algorithm>
#include <cmath>

namespace smelt::io {

bool is_passing(int status) {
  return status == 408 || status == 429 || status == 500 || (status >= 502 && status <= 504);
}

std::chrono::milliseconds retry_delay(const RetryRules& rules, int failures, double random) {
  const std::chrono::duration<double, std::milli> grown =
      rules.first * (std::exp2(std::min(failures - 1, 40)) + random);
  return std::chrono::milliseconds(
      std::llround(std::min(grown.count(), static_cast<double>(rules.most.count()))));
}

}  // namespace smelt::io
