// A terminal in the place of standard error, also of the programs that a test starts.
#pragma once

#include <string>

namespace smelt {

class StderrTerminal {
 public:
  // Of so many columns; 0: it does not say.
  explicit StderrTerminal(unsigned short columns = 0);
  ~StderrTerminal();
  StderrTerminal(const StderrTerminal&) = delete;
  void resize(unsigned short columns) const;
  // What was written to it since the last call; at most a few kilobytes may wait there.
  std::string text() const;

 private:
  int terminal_ = -1, before_ = -1;
};

}  // namespace smelt
