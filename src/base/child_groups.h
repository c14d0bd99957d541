// Process groups of helper programs that must end with this process.
#pragma once

#include <sys/types.h>

namespace smelt {

// Registers a process group that this process started. end_child_groups() kills it as long as this
// object exists. The destructor only unregisters the group; its owner ends it.
class ChildGroup {
 public:
  explicit ChildGroup(::pid_t group);
  ~ChildGroup();
  ChildGroup(const ChildGroup&) = delete;
  ChildGroup& operator=(const ChildGroup&) = delete;

 private:
  ::pid_t group_;
};

// Kills all registered groups. Signal handlers may call it.
void end_child_groups();

}  // namespace smelt
