// What the program logs during a test.
#pragma once

#include <memory>
#include <string>

namespace smelt {

// Takes the default logger's place while it lives; threads may log while the text is read.
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
