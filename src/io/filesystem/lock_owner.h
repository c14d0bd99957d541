// The holder of a lock, as stored in the lock file.
#pragma once

#include <string>
#include <string_view>

namespace smelt::io {

struct LockOwner {
  std::string words;    // "process 12 on host a since 2026-11-22 07:05:16 UTC: smelt run x.yaml"
  std::string machine;  // identifies the machine and its process namespace
  int process = 0;
  std::string started;  // start time, which distinguishes it from a later process with the same id

  static LockOwner this_process();
  // Parses the content of a lock file. Only `words` is set if the rest is missing; it is "another
  // process" if the text is empty.
  static LockOwner parse(std::string_view text);
  std::string text() const;

  // Returns whether the process runs on this machine, so that has_ended() can check it.
  bool is_of_this_machine() const;
  bool has_ended() const;
};

}  // namespace smelt::io
