// Thrown to exit with the status of another program that has already printed its error.
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
