// The process group of a multi-host run. Tensor collectives happen inside the compiled step; this
// class carries host-side coordination: broadcast, barrier and consistency checks. Each key may be
// used only once.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/json.h"
#include "checkpoint/storage/shared_save.h"
#include "distributed/coordination_service.h"

namespace smelt::train {

struct ProcessGroup {
  int rank = 0;  // rank 0 is the coordinator: it locks and cleans the folder and writes the log
  int size = 1;
  checkpoint::Gather gather =
      {};  // all-gather of strings; throws if a process does not arrive in time
  // Records what this process is doing, for error messages if it dies or keeps the others waiting.
  std::function<void(const std::string& what)> set_status = [](const std::string&) {};
  // Ends all processes with this message and exit code kPodExit, so that they are restarted. Does
  // not return. Empty for a single process.
  std::function<void(const std::string& message)> end_all = {};

  bool several() const { return size > 1; }
  bool leads() const { return rank == 0; }

  // Calls `say` on rank 0 and broadcasts its result to all ranks. If it throws, every rank throws
  // the same error (including Stopped). In a single process just calls it. For work that may take
  // days, such as preprocessing, the key must be "alone" or begin with "alone/": the other ranks
  // then wait for up to PodTimes::alone.
  std::string broadcast(const std::string& key, const std::function<std::string()>& say) const;
  // Checks that `value` is equal on all ranks; otherwise every rank throws a UsageError that begins
  // with `what` and names the first rank that differs. Fields of a JSON object that only one side
  // has are not compared.
  void require_equal(const std::string& key, std::string_view what, const Json& value,
                     std::string_view hint) const;
  // Throws UsageError on all ranks unless all see files that rank 0 writes to this folder.
  void require_one_folder(const std::string& folder) const;
  void barrier(const std::string& key) const;
  // Returns on all ranks whether `mine` is true on any of them.
  bool any(const std::string& key, bool mine) const;
  // Runs `work` on rank 0 while the other ranks wait. Throws its error on all ranks.
  void run_on_rank_zero(const std::string& key, const std::function<void()>& work) const;
  // Returns the same group with different keys, for another attempt.
  ProcessGroup for_attempt(std::size_t number) const;
};

// Returns a process group that communicates over `hub`; all keys begin with `prefix`.
ProcessGroup process_group_of(distributed::CoordinationService& hub, const std::string& prefix);

// While an object of this class exists, this process is a rank of the process group of `hub`:
// train() works together with the other ranks, and open_device() opens the devices of all ranks.
class ProcessGroupScope {
 public:
  explicit ProcessGroupScope(std::shared_ptr<distributed::CoordinationService> hub);
  ~ProcessGroupScope();
  ProcessGroupScope(const ProcessGroupScope&) = delete;
  ProcessGroupScope& operator=(const ProcessGroupScope&) = delete;
};
// Returns the current process group, with keys that begin with `what` and a number, or a group of
// one in a single process. All ranks must make these calls in the same order.
ProcessGroup current_process_group(const std::string& what);
// Returns whether this process is rank 0 or the only one. Only this process prints and writes files
// other than checkpoints.
bool is_rank_zero();
// Returns the number of devices for process-local inference: 1 in a multi-process run, because a
// program over all devices must be run by all processes.
std::int64_t local_inference_devices(std::int64_t devices);
// Throws UsageError if this is one of several processes, because `what` does not support that.
void require_single_process(const std::string& what);

}  // namespace smelt::train
