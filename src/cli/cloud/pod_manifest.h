// Files that start a recipe's run on every host of a pod: a script for gcloud's TPU VMs, JobSet on
// GKE (jobset.sigs.k8s.io, cloud.google.com/kubernetes-engine/docs: tpus), SLURM
// (slurm.schedmd.com: sbatch) and SkyPilot (docs.skypilot.co: YAML). See docs/guides/pod.md.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cost_model/accelerator.h"

namespace smelt::cli {

struct PodPlan {
  std::string recipe;                 // path of the file
  std::vector<std::string> settings;  // overrides of recipe fields, including device and devices
  std::string name;                   // name of the job, see run_name()
  cost_model::Accelerator machine;    // a TPU slice, or the GPUs of one machine
  std::int64_t hosts = 1;
  std::string zone;   // Google Cloud zone; empty: any
  std::string image;  // container image that contains smelt
  bool spot = false;
};

// Returns a shell script.
std::string tpu_vm_manifest(const PodPlan& plan);
// Returns a ConfigMap with the recipe, and a JobSet. Throws UsageError if GKE has no such TPU.
std::string jobset_manifest(const PodPlan& plan);
// Returns a batch script.
std::string slurm_manifest(const PodPlan& plan);
// Returns a SkyPilot task.
std::string skypilot_manifest(const PodPlan& plan);

// Returns a job name from the last part of a run's folder: lower-case letters, digits and hyphens,
// which all of these systems accept.
std::string run_name(const std::string& out);

}  // namespace smelt::cli
