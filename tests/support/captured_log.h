// Captures the log messages of a test.
#pragma once

#include <memory>
#include <string>

namespace smelt {

// Replaces the default logger while it lives. Threads may log while the text is read.
class CapturedLog {
 public:
  CapturedLog();
  ~CapturedLog();
  CapturedLog(const CapturedLog&) = delete;
  CapturedLog& operator=(const CapturedLog&) = delete;
  std::string text() const;

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace smelt
