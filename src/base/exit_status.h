// Ends a command with the exit status of another program, which has printed its own message.
#pragma once

#include <exception>

namespace smelt {

class ExitStatus : public std::exception {
 public:
  explicit ExitStatus(int status) : status_(status) {}
  int status() const { return status_; }

 private:
  int status_;
};

}  // namespace smelt
