#include "cloud/job_guard.h"

#include <algorithm>
#include <cmath>

#include "base/run_program.h"
#include "base/str.h"
#include "cloud/machine_calls.h"
#include "cloud/remote_job.h"

namespace smelt::cloud {
namespace {

constexpr int kMostLog = 1 << 20;  // maximum bytes of output per look

// Shell functions. "number" sets $n to the worker's number, from TPU_WORKER_ID or else from the
// metadata. "is_going" returns whether the machine is deleted or being deleted. "wait_due N" waits
// for N polls, or until the deadline is moved.
constexpr const char* kDeletes =
    "number() { n=${TPU_WORKER_ID:-$(metadata attributes/agent-worker-number)}\n"
    "  case $n in ''|*[!0-9]*) n=0;; esac; }\n"
    "is_going() { case $(call -w '%{http_code}' \"$machine\") in *'\"DELETING\"'*|*404) true;; "
    "*) false;; esac; }\n"
    "wait_due() {\n"
    "  i=0; while due && [ $i -lt \"$1\" ]; do sleep \"$poll\"; i=$((i+1)); done\n"
    "}\n";

// Returns the API path of the resource to delete: the node, or the queued resource with its node.
std::string resource_of(const JobSpec& spec, const std::string& zone) {
  return str("/v2/projects/", spec.project, "/locations/", zone,
             spec.queued ? "/queuedResources/" : "/nodes/", machine_name(spec));
}

std::string whole(double seconds) {
  return str(static_cast<long long>(std::max(0.0, std::floor(seconds))));
}

}  // namespace

std::string guard_script(const JobSpec& spec, const std::string& zone, double seconds,
                         const GuardAddresses& place) {
  return str("d=\"", place.home, "/.smelt-guard\"; j=\"", place.home, "/.smelt-job\"\n", kJobRuns,
             kEndJob, "poll=${SMELT_GUARD_POLL:-5}; first=$(( $(date +%s) + ", whole(seconds),
             " ))\n"
             "due() { t=$(cat \"$d/deadline\" 2>/dev/null); case $t in ''|*[!0-9]*) t=$first;; "
             "esac; [ \"$(date +%s)\" -ge \"$t\" ]; }\n",
             machine_calls(), keep_log_function(spec, place.storage), kDeletes,
             "machine=", shell_word(place.api + resource_of(spec, zone)),
             "\n"
             "while :; do\n"
             "  if due; then\n"
             "    number; end_job; i=0\n"
             "    while runs && [ $i -lt 60 ]; do sleep 1; i=$((i+1)); done\n"
             "    [ -n \"$kept\" ] || keep_log; kept=1\n"
             "    wait_due $((3 * n))\n"
             "    if due && ! is_going; then call -o /dev/null -X DELETE \"$machine",
             spec.queued ? "?force=true" : "",
             // Limits the rate of requests if the deletion is not permitted.
             "\"; wait_due 12; fi\n"
             "  else kept=\n"
             "  fi\n"
             "  sleep \"$poll\"\n"
             "done\n");
}

std::string startup_guard(const JobSpec& spec, const std::string& zone, double seconds,
                          const GuardAddresses& place) {
  return str(
      "#!/bin/sh\n# smelt's dead man's switch: deletes this machine if no supervisor leads "
      "its job.\nsetsid sh -c ",
      shell_word(guard_script(spec, zone, seconds, place)), " </dev/null >/dev/null 2>&1 &\n");
}

std::string guard_command(const std::string& script) {
  return str("d=$HOME/.smelt-guard; mkdir -p -m 700 \"$d\" || exit 1\nprintf %s ",
             shell_word(script),
             " > \"$d/guard.sh\"\n"
             "if [ -f \"$d/pid\" ] && kill -0 \"$(cat \"$d/pid\")\" 2>/dev/null; then exit 0; fi\n"
             "setsid sh \"$d/guard.sh\" </dev/null >/dev/null 2>&1 3<&- &\n"
             "echo $! > \"$d/pid\"\n");
}

std::string look_command(double seconds, std::uint64_t log_from) {
  return str("d=$HOME/.smelt-guard; j=$HOME/.smelt-job\n", kJobRuns,
             "mkdir -p -m 700 \"$d\"; echo $(( $(date +%s) + ", whole(seconds),
             " )) > \"$d/deadline.new\" && mv \"$d/deadline.new\" \"$d/deadline\" || exit 1\n"
             "if [ ! -f \"$j/pid\" ]; then echo 'none 0'; exit 0; fi\n"
             "if runs; then s=running; elif [ -f \"$j/exit\" ]; then s=\"ended $(cat "
             // 137: the command was killed together with the shell that stores its status
             "\"$j/exit\")\"; else s='ended 137'; fi\n"
             "touch \"$j/log\"; echo \"$s $(wc -c < \"$j/log\")\"\n"
             "tail -c +",
             log_from + 1, " \"$j/log\" | head -c ", kMostLog, "\n");
}

std::string end_command() { return str("j=$HOME/.smelt-job\n", kJobRuns, kEndJob, "end_job\n"); }

}  // namespace smelt::cloud
