// What starts a recipe's run on every machine of a pod, as the text of a file for what people have:
// gcloud's TPU VMs, JobSet on GKE (jobset.sigs.k8s.io, cloud.google.com/kubernetes-engine/docs:
// tpus), SLURM (slurm.schedmd.com: sbatch), SkyPilot (docs.skypilot.co: YAML). docs/guides/pod.md.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cost_model/accelerator.h"

namespace smelt {

struct PodPlan {
  std::string recipe;                 // the file
  std::vector<std::string> settings;  // over it, with device and devices
  std::string name;                   // of what is started, see run_name()
  Accelerator machine;                // a TPU slice, or the GPUs of one machine
  std::int64_t hosts = 1;
  std::string zone;   // Google's; empty: any
  std::string image;  // of a container that holds smelt
  bool spot = false;
};

// A shell script.
std::string tpu_vm_manifest(const PodPlan& plan);
// A ConfigMap with the recipe, and a JobSet. UsageError where GKE has no such TPU.
std::string jobset_manifest(const PodPlan& plan);
// A batch script.
std::string slurm_manifest(const PodPlan& plan);
// A task.
std::string skypilot_manifest(const PodPlan& plan);

// Of a run's folder, by its last part: small letters, digits and hyphens, as all of these take it.
std::string run_name(const std::string& out);

}  // namespace smelt
