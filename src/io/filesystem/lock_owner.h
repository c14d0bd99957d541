// Who holds a lock, as written into it.
#pragma once

#include <string>
#include <string_view>

namespace smelt {

struct LockOwner {
  std::string words;    // "process 12 on host a since 2026-11-22 07:05:16 UTC: smelt run x.yaml"
  std::string machine;  // the same for all processes that see each other's numbers
  int process = 0;
  std::string started;  // tells it from another process of its number

  static LockOwner this_process();
  // The words alone where the rest is missing, "another process" for no words.
  static LockOwner parse(std::string_view text);
  std::string text() const;

  // Whether it can be known here if it runs, and if so that it does not.
  bool is_of_this_machine() const;
  bool has_ended() const;
};

}  // namespace smelt
