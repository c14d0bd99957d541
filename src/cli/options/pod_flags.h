// Flags and environment of a multi-host run: one of several processes that train one model
// (docs/guides/pod.md).
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "distributed/identity.h"

namespace smelt::pjrt {
class PjrtError;
}  // namespace smelt::pjrt

namespace smelt::cli {

// Returns true if the error means that devices of other hosts cannot be reached, so that a restart
// may help: gRPC's CANCELLED, DEADLINE_EXCEEDED, ABORTED and UNAVAILABLE. Returns false for
// libtpu's ABORTED if another process uses the TPU or holds its lockfile: a restart would fail
// again.
bool is_lost_peer(const pjrt::PjrtError& error);

// Adds --processes, --process and --hub.
void add_pod_flags(CLI::App& command, distributed::PodSettings& words);

// Returns where a process that uses `device` (auto, cpu, gpu or tpu) can look up its rank on this
// machine: environment variables and TPU metadata.
distributed::ProcessEnvironment surroundings_of(const std::string& device);

// Returns the timeouts; SMELT_POD_CONNECT and SMELT_POD_SILENCE (seconds) override the defaults.
// Throws UsageError if one of them is not a number from 0.1 to 1000000.
distributed::PodTimes pod_times_of(
    const std::function<std::string(const std::string& variable)>& environment);

// Runs a command's work. If flags or environment describe several processes, logs this process's
// rank, waits for the others and trains together with them; all ranks except 0 then log only
// errors. If the work of one process fails, the other processes end with the same error. `device`
// returns the device to use; an Error that it throws counts as an error of the work.
void run_in_pod(const distributed::PodSettings& words, const std::function<std::string()>& device,
                const std::function<void()>& work);

}  // namespace smelt::cli
