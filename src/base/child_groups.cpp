#include "base/child_groups.h"

#include <array>
#include <atomic>
#include <csignal>

namespace smelt {
namespace {

// A signal handler reads these, so they are a plain array. If the array is full, further groups are
// not killed; they end when their standard input closes.
std::array<std::atomic<::pid_t>, 256> groups{};

}  // namespace

ChildGroup::ChildGroup(::pid_t group) : group_(group) {
  for (std::atomic<::pid_t>& slot : groups) {
    ::pid_t empty = 0;
    if (slot.compare_exchange_strong(empty, group)) return;
  }
}

ChildGroup::~ChildGroup() {
  for (std::atomic<::pid_t>& slot : groups) {
    ::pid_t mine = group_;
    if (slot.compare_exchange_strong(mine, 0)) return;
  }
}

void end_child_groups() {
  for (const std::atomic<::pid_t>& slot : groups)
    if (const ::pid_t group = slot.load(); group > 0) ::kill(-group, SIGKILL);
}

}  // namespace smelt
