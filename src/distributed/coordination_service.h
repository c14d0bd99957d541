// Host-side coordination of the processes of a pod (a multi-host run): all-gather, broadcast,
// barrier, consistency checks and a key-value store. Rank 0 runs a server, and each process,
// including rank 0, has one connection to it. Tensors do not use it. Design and timeouts:
// docs/explanation/decisions/pod.md.
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

namespace smelt::distributed {

// The rank of this process and the address of rank 0.
struct PodPlace {
  std::string address;  // HOST:PORT where rank 0 listens
  int rank = 0;
  int size = 1;
  // Identifies this start of the job: the scheduler's job number and restart count. It must not
  // differ between ranks; an empty one is not compared.
  std::string incarnation = {};
};

// Values that must be equal on all ranks, as {name in error messages, value}, such as {"smelt",
// "0.1.0"} or {"the recipe", "crc32c 5d1f0a3c"}.
using PodFields = std::vector<std::pair<std::string, std::string>>;

// Thrown if another process did not respond in time. The run resumes if all processes are started
// again, so the exit code is kPodExit.
class LostPeer : public SystemError {
  using SystemError::SystemError;
};

// The reason why the run ends on all ranks.
struct PodEnd {
  std::string text;  // error message that names the process at fault
  int exit_code = kPodExit;
};

// Logs the text and exits immediately with _exit(), because pending device calls cannot be
// cancelled.
void leave_at_once(const PodEnd& end);

struct PodOptions {
  PodTimes times = {};
  // A secret shared by all processes of the pod. It is never sent; each process proves that it
  // knows it. Empty disables the proof.
  std::string secret = {};
  // Called once, on an internal thread, if another process ends the run. After it returns, all
  // pending and later calls throw SystemError.
  std::function<void(const PodEnd&)> on_end = leave_at_once;
};

// One process's client of the coordination server. Thread-safe; all-gathers with different keys do
// not block each other.
class CoordinationService {
 public:
  // Connects and returns once all `place.size` processes have joined. After a timeout throws
  // SystemError that names the missing ranks. Throws UsageError on every rank that has joined if
  // the size or a field differs between ranks, or a rank is not below the size. Throws UsageError
  // on this process only if its protocol version, secret or incarnation is not that of rank 0.
  static std::unique_ptr<CoordinationService> connect(const PodPlace& place,
                                                      const PodFields& fields,
                                                      const PodOptions& options = {});
  // If bye() was not called before, the other ranks treat this process as dead.
  ~CoordinationService();
  CoordinationService(const CoordinationService&) = delete;
  CoordinationService& operator=(const CoordinationService&) = delete;

  int rank() const;
  int size() const;
  const PodTimes& times() const;
  // Returns the name of a rank in messages, such as "host 2 (t1v-w-2, pid 812)".
  std::string name_of(int rank) const;

  // All-gather: returns the payloads of all ranks, by rank. Each rank may use a key once, so keys
  // contain the step ("save/8120/written"). Throws LostPeer, on all ranks, if a rank does not join
  // within `timeout`; the message names the missing ranks and their current activity. The payloads
  // of one all-gather must not exceed 64 MiB in total.
  std::vector<std::string> gather(std::string_view key, std::string_view payload,
                                  PodTimes::Span timeout);
  void barrier(std::string_view key, PodTimes::Span timeout) { gather(key, {}, timeout); }
  // Returns the payload of rank `from`; the other ranks' payloads are ignored.
  std::string broadcast(std::string_view key, std::string_view payload, PodTimes::Span timeout,
                        int from = 0);
  // Checks that `value` is equal on all ranks; otherwise every rank throws UsageError "<what>:
  // <value> on host 0 (…), <other> on host 2 (…)" with the hint.
  void require_equal(std::string_view key, std::string_view what, std::string_view value,
                     PodTimes::Span timeout, std::string_view hint = {});

  // Key-value store whose keys can be set once. PJRT plugins exchange their topology through it.
  // put() returns false if the key is already set.
  bool put(std::string_view key, std::string_view value);
  std::optional<std::string> get(std::string_view key,
                                 PodTimes::Span timeout);  // waits until it is set
  std::optional<std::string> try_get(std::string_view key);

  // Sets the current activity of this process ("step 8120", "compilation"), which messages on other
  // ranks show if it dies or is late. Does not send anything; the next heartbeat does.
  void beat(std::string_view status);

  // Ends the run on all other ranks with this message and exit code. Returns once they have been
  // notified, so that this process can exit with its own error. Later calls throw.
  void abort(std::string_view text, int exit_code = kPodExit);

  // Leaves the pod normally. On rank 0, returns once all other ranks have left.
  void bye();

 private:
  struct State;
  explicit CoordinationService(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace smelt::distributed
