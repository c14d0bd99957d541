// How long a request to S3 is tried again.
#pragma once

#include <arrow/filesystem/s3fs.h>

#include <atomic>

namespace smelt {

// Retries after 0.2 seconds, then after twice as long each time, at most 10 seconds, until the
// waits add up to a limit. Arrow's own strategy gives up after six seconds.
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

}  // namespace smelt
