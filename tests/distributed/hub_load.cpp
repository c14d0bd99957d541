// Measures the coordination service with many ranks, which are threads of this process connected
// over loopback: the time to connect, the time of a gather, and the time until all ranks know of
// the death of one.
// pod_hub_load [PROCESSES [GATHERS [BYTES]]]
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <iostream>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "distributed/pod_of_threads.h"

namespace smelt::distributed {
namespace {

void allow_open_files() {
  rlimit limit{};
  CHECK(::getrlimit(RLIMIT_NOFILE, &limit) == 0);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

void require_none(const std::vector<std::string>& errors) {
  for (const std::string& error : errors) CHECK(error.empty(), error);
}

// Returns the seconds until all other ranks, which wait in a barrier, know that the last rank has
// left without bye().
double seconds_of_a_death(PodOfThreads& pod,
                          std::vector<std::unique_ptr<CoordinationService>>& hubs, int size) {
  std::atomic<int> waiting = 0;
  Clock::time_point death;
  const auto errors = pod.run([&](int rank) {
    auto& hub = hubs[static_cast<std::size_t>(rank)];
    if (rank < size - 1) {
      ++waiting;
      hub->barrier("death", std::chrono::seconds(600));
      return;
    }
    while (waiting < size - 1) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    death = Clock::now();
    hub.reset();
  });
  const double seconds = seconds_since(death);
  const std::string dead = str("host ", size - 1, " (");
  const auto told = std::ranges::count_if(
      errors, [&](const std::string& error) { return error.find(dead) != error.npos; });
  CHECK(told == size - 1, told, " of ", size, " have heard of it");
  return seconds;
}

void load(int size, int gathers, std::size_t bytes) {
  PodOfThreads pod(size, PodTimes{});
  auto begin = Clock::now();
  auto hubs = pod.connect();
  std::cout << "processes " << size << "\nconnect_s " << seconds_since(begin) << "\n";
  begin = Clock::now();
  require_none(pod.run([&](int rank) {
    const std::string payload(bytes, 'x');
    for (int i = 0; i < gathers; ++i)
      hubs[static_cast<std::size_t>(rank)]->gather(str("gather/", i), payload,
                                                   std::chrono::seconds(600));
  }));
  std::cout << "gathers " << gathers << " of " << bytes << " bytes each\ngather_ms "
            << 1000 * seconds_since(begin) / gathers << "\n";
  std::cout << "death_s " << seconds_of_a_death(pod, hubs, size) << "\n";
}

}  // namespace
}  // namespace smelt::distributed

int main(int count, char** words) {
  smelt::distributed::allow_open_files();
  smelt::set_log_level(smelt::LogLevel::off);
  const auto number = [&](int at, int otherwise) {
    return count > at ? std::atoi(words[at]) : otherwise;
  };
  smelt::distributed::load(number(1, 256), number(2, 1000),
                           static_cast<std::size_t>(number(3, 100)));
}
