#include "cli/cloud/pod_manifest.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <vector>

#include "base/error.h"
#include "base/exit_codes.h"
#include "base/json.h"
#include "base/run_program.h"
#include "base/stop_notice.h"
#include "cli/options/recipe_option.h"
#include "distributed/coordination_service.h"
#include "io/filesystem/file.h"

namespace smelt::cli {
namespace {

// Exit statuses of processes that were stopped by a signal: after saving a checkpoint, or at once
// (SIGHUP, SIGTERM). A restarted run resumes.
constexpr std::array kStoppedStatuses{kStoppedExit, 129, 143};
// Statuses of processes that lost another process of their pod, crashed (SIGABRT, SIGBUS, SIGSEGV)
// or were killed, for example by the out-of-memory killer. kSystemExit is handled like these,
// because a disk or network error may be temporary.
constexpr std::array kLostStatuses{kPodExit, 134, 135, 137, 139};
// A run that makes no progress is not restarted forever: the maximum number of consecutive starts
// that each lasted less than kShortSeconds or ended with kSystemExit.
constexpr int kShortStarts = 5, kShortSeconds = 600;
// The maximum number of restarts on systems that cannot measure how long each start lasted.
constexpr int kMostOfJobSet = 50, kMostOfSlurm = 200;
// A task's exit statuses for a stop, a temporary failure and any other error. They differ from
// srun's own status; srun returns the highest of all tasks.
constexpr int kTaskStopped = kStoppedExit, kTaskFailed = kPodExit, kTaskError = kTaskErrorExit;

std::vector<int> restart_statuses() {
  std::vector<int> out(kStoppedStatuses.begin(), kStoppedStatuses.end());
  out.insert(out.end(), kLostStatuses.begin(), kLostStatuses.end());
  out.push_back(kSystemExit);
  std::ranges::sort(out);  // required by Kubernetes
  return out;
}

// Returns a shell pattern of kSystemExit and kLostStatuses.
std::string failed_pattern() { return str(kSystemExit, "|", join(kLostStatuses, "|")); }

// Returns shell commands that run `command` and restart it if it ends with a status of
// failed_pattern(), up to kShortStarts short starts in a row.
std::string run_again(const std::string& command) {
  return str("n=0; while :; do t=$(date +%s); ", command, "; code=$?; case $code in ",
             failed_pattern(), ") ;; *) exit $code ;; esac; if [ $code -eq ", kSystemExit,
             " ] || [ $(($(date +%s) - t)) -lt ", kShortSeconds,
             " ]; then n=$((n + 1)); else n=0; fi; if [ $n -ge ", kShortStarts, " ]; then echo '",
             kShortStarts, " starts in a row lasted less than ", kShortSeconds / 60,
             " minutes or ended with ", kSystemExit,
             ": given up' >&2; exit $code; fi; sleep 5; done");
}

// Quotes a text for YAML, as a JSON string.
std::string yaml(const std::string& text) { return Json(text).dump(); }

std::string run_command(const PodPlan& plan, const std::string& recipe) {
  std::string out = "smelt run " + recipe;
  for (const std::string& setting : plan.settings) out += " --set " + quoted(setting);
  return out;
}

std::string what(const PodPlan& plan) {
  if (!plan.machine.is_gpu())
    return str("a ", plan.machine.name, ": ", plan.hosts, plan.hosts == 1 ? " host" : " hosts");
  return str(plan.hosts, " x ", plan.machine.name);
}

std::string indented(const std::string& text, const std::string& margin) {
  std::string out;
  for (const std::string_view line : split(trim(text), '\n'))
    out += line.empty() ? "\n" : str(margin, line, "\n");
  return out;
}

// Returns GKE's accelerator label for a TPU type.
std::string gke_accelerator(const cost_model::Accelerator& machine) {
  static const std::map<std::string, std::string> kNames{
      {"v3", "tpu-v3-slice"},   {"v4", "tpu-v4-podslice"}, {"v5e", "tpu-v5-lite-podslice"},
      {"v5p", "tpu-v5p-slice"}, {"v6e", "tpu-v6e-slice"},  {"7x", "tpu7x"}};
  const auto found = kNames.find(machine.generation);
  if (found == kNames.end() || (machine.generation == "v3" && machine.hosts == 1))
    throw UsageError(str("pod manifest: GKE has no multi-host node pool for a ", machine.name),
                     "use --kind tpu-vm, or another type with --on");
  return found->second;
}

std::string skypilot_accelerator(const cost_model::Accelerator& machine) {
  if (!machine.is_gpu()) return str("tpu-", machine.name, ":1");
  std::string model = machine.generation;
  if (model == "a100-40gb") model = "a100";
  std::ranges::transform(model, model.begin(), [](unsigned char c) { return std::toupper(c); });
  return str(model, ":", machine.chips);
}

// Returns the JobSet template of one host.
std::string host_template(const PodPlan& plan) {
  const std::string topology = plan.machine.topology.substr(plan.machine.topology.find(':') + 1);
  const std::string spot = plan.spot ? "                cloud.google.com/gke-spot: \"true\"\n" : "";
  const std::string command = "exec " + run_command(plan, "/recipe/recipe.yaml");
  return str(
      "          template:\n            spec:\n              restartPolicy: Never\n"
      "              terminationGracePeriodSeconds: 120  # a step, and a save\n"
      "              nodeSelector:\n                cloud.google.com/gke-tpu-accelerator: ",
      gke_accelerator(plan.machine),
      "\n                cloud.google.com/gke-tpu-topology: ", yaml(topology), "\n", spot,
      "              volumes:\n                - name: recipe\n"
      "                  configMap:\n                    name: ",
      plan.name,
      "\n              containers:\n                - name: smelt\n"
      "                  image: ",
      yaml(plan.image), "\n                  command: [sh, -c, ", yaml(command),
      "]\n                  resources:\n"
      "                    limits:\n                      google.com/tpu: ",
      plan.machine.chips / plan.hosts,
      "\n                  volumeMounts:\n                    - name: recipe\n"
      "                      mountPath: /recipe\n");
}

}  // namespace

std::string run_name(const std::string& out) {
  std::string name;
  for (const unsigned char c : std::filesystem::path(out + "/").parent_path().filename().string())
    if (std::isalnum(c) != 0)
      name += static_cast<char>(std::tolower(c));
    else if (!name.empty() && name.back() != '-')
      name += '-';
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name.front())) != 0)
    name = "smelt-" + name;
  name.resize(std::min<std::size_t>(name.size(), 40));
  while (name.ends_with('-')) name.pop_back();
  return name;
}

std::string tpu_vm_manifest(const PodPlan& plan) {
  const std::string there = plan.name + ".yaml";
  const std::string command = run_again(run_command(plan, there));
  const std::string tpu = "gcloud compute tpus tpu-vm ",
                    where = str(" --zone=", quoted(plan.zone), " --worker=all");
  return str(
      "#!/bin/sh\n# ", plan.recipe, " on ", what(plan), ". The machine: smelt cloud up ", plan.name,
      " --type ", plan.machine.name, " --zone ", plan.zone, plan.spot ? " --spot" : "",
      "\n# smelt must be in the PATH of each host (docs/guides/pod.md). A process that is killed, "
      "crashes or hangs ends the others with ",
      kPodExit, ".\n# After that, or if a disk or the network failed (", kSystemExit,
      "), all are started again and resume. After Ctrl-C or a preemption (", kStoppedExit,
      ")\n# run the same script again.\nset -e\n", tpu, "scp ", quoted(plan.recipe), " ", plan.name,
      ":", there, where, "\n", tpu, "ssh ", plan.name, where, " --command=", shell_word(command),
      "\n");
}

std::string jobset_manifest(const PodPlan& plan) {
  return str(
      "# ", plan.recipe, " on ", what(plan),
      " of GKE with JobSet: kubectl apply -f this file\n"
      "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ",
      plan.name, "\ndata:\n  recipe.yaml: |\n", indented(io::read_file(plan.recipe), "    "),
      "---\napiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata:\n  name: ", plan.name,
      "\n  annotations:  # a slice for itself\n"
      "    alpha.jobset.sigs.k8s.io/exclusive-topology: cloud.google.com/gke-nodepool\n"
      "spec:\n  network:  # a headless service, through which the hosts find each other\n"
      "    enableDNSHostnames: true\n    subdomain: ",
      plan.name, "\n  failurePolicy:\n    maxRestarts: ", kMostOfJobSet,
      "\n    rules:\n"
      "      - name: nothing-to-restart-for\n        action: FailJobSet\n"
      "        onJobFailureReasons: [PodFailurePolicy]\n"
      "  replicatedJobs:\n    - name: hosts\n      replicas: 1\n      template:\n"
      "        spec:\n          parallelism: ",
      plan.hosts, "\n          completions: ", plan.hosts,
      "\n          completionMode: Indexed\n          backoffLimit: 0\n"
      "          podFailurePolicy:\n            rules:\n"
      "              - action: Count  # an eviction: all hosts restart and resume\n"
      "                onPodConditions:\n                  - type: DisruptionTarget\n"
      "                    status: \"True\"\n"
      "              - action: FailJob  # any other error: a restart does not help\n"
      "                onExitCodes:\n                  containerName: smelt\n"
      "                  operator: NotIn\n                  values: [",
      join(restart_statuses(), ", "), "]\n", host_template(plan));
}

std::string slurm_manifest(const PodPlan& plan) {
  const std::string stopped = join(kStoppedStatuses, "|"), lost = join(kLostStatuses, "|");
  const std::string requeue = "scontrol requeue \"$SLURM_JOB_ID\"";
  return str("#!/bin/bash\n# ", plan.recipe, " on ", what(plan), ": sbatch this file\n",
             "#SBATCH --job-name=", plan.name, "\n#SBATCH --nodes=", plan.hosts,
             "\n#SBATCH --ntasks-per-node=1\n#SBATCH --gpus-per-node=", plan.machine.chips,
             "\n#SBATCH --signal=TERM@120\n#SBATCH --requeue\n#SBATCH --open-mode=append\n\n",
             "# The job is queued again and resumes if its tasks were stopped (", kStoppedExit,
             ": the time is nearly up, or a preemption)\n# or failed for a reason that may pass (",
             kSystemExit, ": disk or network; ", kPodExit,
             ": another task was lost; or killed). Any other error ends it.\n# srun returns the "
             "highest status of all tasks, so each task maps its own: 0 done, ",
             kTaskStopped, " stopped, ", kTaskFailed, " failed, ", kTaskError,
             " any\n# other error; 1 is srun's own. The traps keep its shell until smelt has "
             "saved.\n"
             "srun --kill-on-bad-exit=0 bash -c 'trap : TERM INT HUP; \"$@\"; case $? in 0) ;; ",
             stopped, ") exit ", kTaskStopped, " ;; ", failed_pattern(), ") exit ", kTaskFailed,
             " ;; *) exit ", kTaskError, " ;; esac' task ", run_command(plan, quoted(plan.recipe)),
             "\ncode=$?\ncase $code in\n", stopped, ") ", requeue, " ;;\n", lost,
             ") if [ \"${SLURM_RESTART_COUNT:-0}\" -lt ", kMostOfSlurm, " ]; then ", requeue,
             "\n  else echo 'not queued again after ", kMostOfSlurm,
             " starts: sbatch this file again to resume' >&2; fi ;;\nesac\nexit $code\n");
}

std::string skypilot_manifest(const PodPlan& plan) {
  const bool gpu = plan.machine.is_gpu();
  const std::string there = str("~/", plan.name, ".yaml");
  // On a TPU slice, each host finds its rank in the machine's metadata.
  const std::string who = gpu && plan.hosts > 1 ? " --processes \"$SKYPILOT_NUM_NODES\" --process "
                                                  "\"$SKYPILOT_NODE_RANK\" --hub "
                                                  "\"$(echo \"$SKYPILOT_NODE_IPS\" | head -n 1)\""
                                                : "";
  // SkyPilot does not limit restarts by exit code, so run_again() restarts and counts crashes.
  return str("# ", plan.recipe, " on ", what(plan),
             ": sky jobs launch this file\nname: ", plan.name,
             "\nnum_nodes: ", gpu ? plan.hosts : 1, "\nresources:\n",
             plan.zone.empty() ? "" : str("  infra: gcp/*/", plan.zone, "\n"),
             "  accelerators: ", yaml(skypilot_accelerator(plan.machine)), "\n",
             gpu ? "" : str("  accelerator_args:\n    runtime_version: ", plan.machine.image, "\n"),
             "  use_spot: ", plan.spot ? "true" : "false",
             "\n  job_recovery:  # stopped: the same command resumes the run\n"
             "    recover_on_exit_codes: [",
             join(kStoppedStatuses, ", "), "]\nfile_mounts:\n  ", there, ": ", yaml(plan.recipe),
             "\nsetup: command -v smelt  # to install it see docs/guides/pod.md\nrun: ",
             yaml(run_again(run_command(plan, there) + who)), "\n");
}

}  // namespace smelt::cli
