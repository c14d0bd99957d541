#include "io/filesystem/s3_patience.h"

#include <algorithm>

namespace smelt::io {
namespace {

constexpr std::int64_t kFirstDelay = 200, kMostDelay = 10'000;  // milliseconds
constexpr std::int64_t kMostDoublings = 10;

std::int64_t delay_before(std::int64_t retry) {
  return std::min(kMostDelay, kFirstDelay << std::min(retry, kMostDoublings));
}

}  // namespace

bool S3Patience::ShouldRetry(const AWSErrorDetail& error, std::int64_t retries) {
  // MinIO's server returns this error while it starts.
  if (!error.should_retry && error.exception_name != "XMinioServerNotInitialized") return false;
  double waited = 0;
  for (std::int64_t retry = 0; retry < retries; ++retry)
    waited += static_cast<double>(delay_before(retry)) / 1000;
  return waited < seconds_;
}

std::int64_t S3Patience::CalculateDelayBeforeNextRetry(const AWSErrorDetail&,
                                                       std::int64_t retries) {
  return delay_before(retries);
}

}  // namespace smelt::io
