// Who holds a lock, as written into it.
#pragma once

#include <string>
#include <string_view>

namespace smelt {

struct LockOwner {
  std::string words;    // "process 12 on host a since 2026-11-22 07:05:16 UTC: smelt run x.yaml"
  std::string machine;  // the same for all processes that see each other's numbers
  int process = 0;
  std::string started;  // start time, to distinguish processes with the same id

  static LockOwner this_process();
  // Parses what text() returns. Missing parts are empty; without words, `words` is "another
  // process".
  static LockOwner parse(std::string_view text);
  std::string text() const;

  // Whether it can be known here if it runs, and if so that it does not.
  bool is_of_this_machine() const;
  bool has_ended() const;
};

}  // namespace smelt
