// All timeouts between the processes of a pod.
#pragma once

#include <chrono>

namespace smelt::distributed {

struct PodTimes {
  using Span = std::chrono::milliseconds;

  // Timeouts of the connection itself.
  Span connect = std::chrono::seconds(300);  // from a process's start until all have joined
  // How long a process retries joining while another process has its rank. This is longer than
  // `silence`, because the rank of a dead process becomes free only after `silence`.
  Span taken = std::chrono::seconds(70);
  Span hello = std::chrono::seconds(10);    // from connecting until the handshake arrives
  Span say = std::chrono::seconds(60);      // interval of log messages about waiting ranks
  Span beat = std::chrono::seconds(2);      // heartbeat interval
  Span silence = std::chrono::seconds(60);  // a process without a heartbeat for this long is dead
  Span notify = std::chrono::seconds(2);    // time to notify all ranks before the server stops

  // Timeouts of all-gathers, by purpose.
  Span programs = std::chrono::hours(1);  // compilation, and purposes not listed here
  Span restore = std::chrono::seconds(1800);
  Span commit = std::chrono::seconds(1200);
  Span exit = std::chrono::seconds(300);
  // Work of one rank that the others wait for, such as preprocessing or exports. Its heartbeats
  // show that it is alive.
  Span alone = std::chrono::hours(24 * 30);
};

}  // namespace smelt::distributed
