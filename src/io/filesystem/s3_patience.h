// Retry strategy for S3 requests.
#pragma once

#include <arrow/filesystem/s3fs.h>

#include <atomic>

namespace smelt::io {

// Retries with exponential backoff, from 0.2 to at most 10 seconds, until the waits add up to a
// given number of seconds. Arrow's default gives up after six seconds.
class S3Patience final : public arrow::fs::S3RetryStrategy {
 public:
  explicit S3Patience(double seconds) : seconds_(seconds) {}
  void set(double seconds) { seconds_ = seconds; }

  bool ShouldRetry(const AWSErrorDetail& error, std::int64_t retries) override;
  std::int64_t CalculateDelayBeforeNextRetry(const AWSErrorDetail& error,
                                             std::int64_t retries) override;  // milliseconds

 private:
  std::atomic<double> seconds_;
};

}  // namespace smelt::io
