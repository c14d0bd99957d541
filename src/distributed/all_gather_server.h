// The state of rank 0's coordination server, without sockets: pending all-gathers and the key-value
// store.
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

namespace smelt::distributed {

// A request of a process. The server replies to it exactly once.
struct PodCall {
  int rank;
  std::uint64_t call;
};

struct PodAnswer {
  std::vector<PodCall> to;
  std::shared_ptr<const std::string> payload;  // encoded CallStatus and texts
};
PodAnswer answer_to(std::vector<PodCall> to, CallStatus status,
                    const std::vector<std::string>& texts = {});

class AllGatherServer {
 public:
  // Returns how an error message names a missing rank and its current activity.
  using Describe = std::function<std::string(int rank)>;
  AllGatherServer(int size, Describe describe) : size_(size), describe_(std::move(describe)) {}

  // Adds a rank's payload to the all-gather `key`. Returns the replies if the all-gather is now
  // complete or has failed, or if this rank already took part in it; otherwise nullopt.
  std::optional<PodAnswer> add(PodCall from, const std::string& key, std::string payload,
                               std::chrono::milliseconds timeout, Clock::time_point now);
  // Returns the error replies for all-gathers that have timed out. An all-gather fails on all ranks
  // once the deadline of any rank has passed.
  std::vector<PodAnswer> overdue(Clock::time_point now);
  std::optional<Clock::time_point> next_deadline() const;
  // Moves all deadlines by `time`, during which the server's own process was suspended.
  void postpone(Clock::duration time);
  // Returns whether every rank except 0 waits in an all-gather. Rank 0 may then be busy with work
  // that the others wait for, such as preprocessing.
  bool all_wait_for_first() const;
  // Returns one line for each all-gather that has waited for at least `at_least`, such as
  // "gather 'save/8120/written' has waited 70.0 s for host 2 (…), for 65 s at input". Skips
  // all-gathers that wait only for rank 0, which logs its own progress.
  std::vector<std::string> waiting(Clock::time_point now, Clock::duration at_least) const;

 private:
  struct Gather {
    std::vector<std::optional<std::string>> payloads;  // by rank
    std::vector<PodCall> calls;
    Clock::time_point began, deadline;
    std::chrono::milliseconds timeout;
    std::string failed;  // error message, also returned to ranks that join later
  };
  std::string missing(const Gather& gather) const;
  static bool waits_only_for_first(const Gather& gather);
  PodAnswer complete(const std::string& key, Gather& gather) const;

  int size_;
  Describe describe_;
  std::map<std::string, Gather> gathers_;
};

// A key-value store whose keys can be set once, and the requests that wait for a key.
class KeyValues {
 public:
  // Sets a value. Returns the reply to the caller, then the replies to the requests that waited for
  // `key`.
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

}  // namespace smelt::distributed
