// Every time-out between the processes of a pod.
#pragma once

#include <chrono>

namespace smelt {

struct PodTimes {
  using Span = std::chrono::milliseconds;

  // The hub's own.
  Span connect = std::chrono::seconds(300);  // from a process's start until all have come
  // How long a process retries joining while another process has its rank: longer than `silence`,
  // because a dead process's rank becomes free only then.
  Span taken = std::chrono::seconds(70);
  Span hello = std::chrono::seconds(10);    // from a connection to its first frame
  Span say = std::chrono::seconds(60);      // waiting is told this often
  Span beat = std::chrono::seconds(2);      // each process says that it lives, and what it does
  Span silence = std::chrono::seconds(60);  // a process that says nothing for so long is dead
  Span told = std::chrono::seconds(2);      // the end is told to all before the hub ends, too

  // Those of gathers, by what is gathered.
  Span programs = std::chrono::hours(1);  // all have compiled
  Span resume = std::chrono::seconds(600);
  Span restore = std::chrono::seconds(1800);
  Span commit = std::chrono::seconds(1200);
  Span exit = std::chrono::seconds(300);
  // What one does alone while the others wait: texts, data, exports. That it lives is heard.
  Span alone = std::chrono::hours(24 * 30);
};

}  // namespace smelt
