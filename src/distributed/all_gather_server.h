// What waits at the hub: gathers and values, without any socket.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "distributed/frame.h"

namespace smelt {

// A call of a process, which is answered once.
struct PodCall {
  int rank;
  std::uint64_t call;
};

struct PodAnswer {
  std::vector<PodCall> to;
  std::shared_ptr<const std::string> payload;  // status, then texts
};
PodAnswer answer_to(std::vector<PodCall> to, CallStatus status,
                    const std::vector<std::string>& texts = {});

class AllGatherServer {
 public:
  // What a message says of a rank that is missing, and why.
  using Describe = std::function<std::string(int rank)>;
  AllGatherServer(int size, Describe describe) : size_(size), describe_(std::move(describe)) {}

  // An answer where this one was the last, or the gather has failed, or it comes a second time.
  std::optional<PodAnswer> add(PodCall from, const std::string& key, std::string payload,
                               std::chrono::milliseconds timeout, Clock::time_point now);
  // A gather fails for all at the first deadline of one of them.
  std::vector<PodAnswer> overdue(Clock::time_point now);
  std::optional<Clock::time_point> next_deadline() const;
  // Moves all deadlines by the time in which the hub itself was stopped.
  void postpone(Clock::duration time);
  // Whether all but process 0 are in one: what it makes for all may take its time.
  bool all_wait_for_first() const;
  // "'save/8120/written' waits for host 2 (…), at input, 70 s", of those that have waited so long;
  // not where they wait for host 0 alone, which tells by itself what it does meanwhile.
  std::vector<std::string> waiting(Clock::time_point now, Clock::duration at_least) const;

 private:
  struct Gather {
    std::vector<std::optional<std::string>> payloads;  // by rank
    std::vector<PodCall> calls;
    Clock::time_point began, deadline;
    std::chrono::milliseconds timeout;
    std::string failed;  // why; kept for those who come later
  };
  std::string missing(const Gather& gather) const;
  static bool waits_for_first_alone(const Gather& gather);
  PodAnswer complete(const std::string& key, Gather& gather) const;

  int size_;
  Describe describe_;
  std::map<std::string, Gather> gathers_;
};

// Values that are set once, and those who wait for them.
class KeyValues {
 public:
  // The answer to the one who puts, then that to those who waited.
  std::vector<PodAnswer> put(PodCall from, const std::string& key, std::string value);
  std::optional<PodAnswer> get(PodCall from, const std::string& key,
                               std::chrono::milliseconds timeout, Clock::time_point now);
  PodAnswer try_get(PodCall from, const std::string& key) const;
  std::vector<PodAnswer> overdue(Clock::time_point now);
  std::optional<Clock::time_point> next_deadline() const;
  void postpone(Clock::duration time);

 private:
  struct Waiting {
    PodCall call;
    std::string key;
    Clock::time_point deadline;
  };
  std::map<std::string, std::string> values_;
  std::vector<Waiting> waiting_;
};

}  // namespace smelt
