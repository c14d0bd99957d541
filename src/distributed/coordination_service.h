// What the processes of a pod say to each other beside their devices: rank 0 runs a hub, and each
// process, rank 0 too, has one connection to it. No tensor goes this way.
// Design and time-outs: docs/explanation/decisions/pod.md.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/exit_codes.h"
#include "distributed/pod_times.h"

namespace smelt {

// Which process of a pod this is.
struct PodPlace {
  std::string address;  // HOST:PORT where rank 0 listens
  int rank = 0;
  int size = 1;
  // Of this start, from what has started it (a job's number and how often it was started again).
  // Empty: not known, and not compared.
  std::string incarnation = {};
};

// What must be the same on all, by the name that a message gives it: {"smelt", "0.1.0"}, {"the
// recipe", "crc32c 5d1f0a3c"}.
using PodFields = std::vector<std::pair<std::string, std::string>>;

// Another process of the pod did not come in time. The run goes on if all are started again, so the
// exit code is kPodExit.
class LostPeer : public SystemError {
  using SystemError::SystemError;
};

// Why the run ends on all processes.
struct PodEnd {
  std::string text;  // names the process that is the cause
  int exit_code = kPodExit;
};

// Logs the text and leaves by _exit with the code: no device call can be cancelled, and nothing is
// waited for.
void leave_at_once(const PodEnd& end);

struct PodOptions {
  PodTimes times = {};
  // Known to all who may join; it is not sent, only proven to be known. Empty: none.
  std::string secret = {};
  // Called once, on a thread of the hub, when another process ends the run. When it returns, all
  // calls that wait or come later fail with SystemError.
  std::function<void(const PodEnd&)> on_end = leave_at_once;
};

// Thread-safe: any thread may call anything at any time; gathers of different keys do not wait for
// each other.
class CoordinationService {
 public:
  // Returns when all `size` processes have come. SystemError: not all came in time, by rank.
  // UsageError: another pod, run, place or version, or fields that differ, with both values; all
  // processes that have come fail alike.
  static std::unique_ptr<CoordinationService> connect(const PodPlace& place,
                                                      const PodFields& fields,
                                                      const PodOptions& options = {});
  // Without bye(): the others see this process as dead.
  ~CoordinationService();
  CoordinationService(const CoordinationService&) = delete;
  CoordinationService& operator=(const CoordinationService&) = delete;

  int rank() const;
  int size() const;
  const PodTimes& times() const;
  // "host 2 (t1v-w-2, pid 812)", as messages name a process.
  std::string name_of(int rank) const;

  // Each process's payload, by rank. A key is a name of its own, with the step in it
  // ("save/8120/written"), which each process uses once. LostPeer, the same for all who wait and
  // who come later, when one does not come within `timeout`: it says who, and what they were doing.
  // A process's payload is at most 64 MiB, and so are all of a gather together.
  std::vector<std::string> gather(std::string_view key, std::string_view payload,
                                  PodTimes::Span timeout);
  void barrier(std::string_view key, PodTimes::Span timeout) { gather(key, {}, timeout); }
  // What `from` has given; the others' payloads are not looked at.
  std::string broadcast(std::string_view key, std::string_view payload, PodTimes::Span timeout,
                        int from = 0);
  // UsageError, on all, unless all have the same value: "<what>: <value> on host 0 (…), <other> on
  // host 2 (…)", with the hint.
  void agree(std::string_view key, std::string_view what, std::string_view value,
             PodTimes::Span timeout, std::string_view hint = {});

  // A store of values that are set once, for plugins that exchange their topology through it.
  bool put(std::string_view key, std::string_view value);  // false: it has a value already
  std::optional<std::string> get(std::string_view key, PodTimes::Span timeout);  // waits for it
  std::optional<std::string> try_get(std::string_view key);

  // What this process does from now on ("step 8120", "input of step 8121", "compilation"): said to
  // the others when it dies or keeps them waiting. Sends nothing by itself.
  void beat(std::string_view doing);

  // Ends the run on all others with this text and exit code; returns once they were told, so that
  // this process can end by its own error. Further calls fail.
  void abort(std::string_view text, int exit_code = kPodExit);

  // This process is done and may go; on rank 0, returns when all have said so.
  void bye();

 private:
  struct State;
  explicit CoordinationService(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace smelt
