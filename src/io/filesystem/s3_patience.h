// How long a request to S3 is tried again.
#pragma once

#include <arrow/filesystem/s3fs.h>

#include <atomic>

namespace smelt {

// After 0.2 seconds, then each time after twice as long, at most 10 seconds, until the waits come
// to so many seconds. Arrow's own gives up after six.
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
