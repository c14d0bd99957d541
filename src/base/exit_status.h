// The end of a command with an exit status that is another program's, which has said why itself.
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
