// The flags, and the surroundings, by which a command is one of several processes that train one
// model (docs/guides/pod.md).
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "distributed/identity.h"

namespace smelt {

class PjrtError;

// Whether a device reports that it no longer reaches those of other hosts, which another start
// mends: gRPC's codes CANCELLED, DEADLINE_EXCEEDED, ABORTED and UNAVAILABLE. libtpu's ABORTED for a
// TPU that another process uses, and for its lockfile, is none: another start finds it again.
bool is_lost_peer(const PjrtError& error);

// --processes, --process and --hub.
void add_pod_flags(CLI::App& command, PodWords& words);

// What this machine says of a pod whose processes use this device: auto, cpu, gpu or tpu.
Surroundings surroundings_of(const std::string& device);

// The time-outs, with what SMELT_POD_CONNECT and SMELT_POD_SILENCE say in seconds. UsageError for
// what is no number of seconds.
PodTimes pod_times_of(const std::function<std::string(const std::string& variable)>& environment);

// Runs a command's work, as one of several processes where flags or surroundings say so: says who
// it is, waits for the others, and lets the work train with them. All but process 0 tell nothing
// but errors from then on. How the work ends is told to the others: by an error they end, too, in
// its words. `device` is asked what device is meant; an Error of it is the work's.
void run_in_pod(const PodWords& words, const std::function<std::string()>& device,
                const std::function<void()>& work);

}  // namespace smelt
