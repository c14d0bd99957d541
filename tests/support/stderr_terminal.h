// Replaces standard error by a terminal, also for the programs that a test starts.
#pragma once

#include <string>

namespace smelt {

class StderrTerminal {
 public:
  // Sets the number of columns; 0: unknown.
  explicit StderrTerminal(unsigned short columns = 0);
  ~StderrTerminal();
  StderrTerminal(const StderrTerminal&) = delete;
  void resize(unsigned short columns) const;
  // Returns what was written since the last call; a few kilobytes are buffered at most.
  std::string text() const;

 private:
  int terminal_ = -1, before_ = -1;
};

}  // namespace smelt
