// Flags that select devices, mesh and precision. The variables that the flags are stored in must
// live until the command line is parsed.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "model/train_step/sharding_plan.h"

namespace smelt::cli {

struct RunFlags {
  std::optional<std::string> device;  // auto, cpu, gpu or tpu
  std::optional<std::int64_t> devices;
  model::ComputeOptions compute = {};
  model::MeshChoice mesh = {};
  std::int64_t micro_batches = 1;
  std::optional<model::Reduction> reduction = {};

  // Returns the device configuration. The device is --device; without it, the TPU if `tpu_cores` is
  // set, else "auto" (pjrt/hardware.h). The device count is the first of these that is known:
  // --devices, `tpu_cores`, and the number of devices of a TPU or GPU that "auto" has found.
  // Otherwise it is 1.
  model::DeviceConfig on(std::optional<std::int64_t> tpu_cores = {}) const;
  // Returns the configuration for `devices` TPU devices, even if this machine has no TPU.
  model::DeviceConfig on_tpu(std::int64_t devices) const {
    return {.device = "tpu", .devices = devices, .mesh = mesh, .compute = compute};
  }
};

// Adds --device, --devices, --micro-batches and the flags of add_form_flags(). The two defaults are
// only shown in the help text.
void add_run_flags(
    CLI::App& command, RunFlags& flags,
    const std::string& default_device = "the TPU or GPU that is there, else cpu",
    const std::string& default_devices = "all devices of a TPU or GPU that auto finds, else 1");

// Adds --reduction, for programs that clip each device's own gradient before summing over devices.
void add_reduction_flag(CLI::App& command, RunFlags& flags);
// Returns the value of --reduction if it was given. Otherwise returns the value stored with the run
// in `model_dir`, so that the run may resume with another number of devices. For a new run, returns
// per_replica if several devices share a batch without sharding parameters or optimizer slots, else
// global. An empty `model_dir` means a new run.
model::Reduction original_reduction(const RunFlags& flags, const model::DeviceConfig& on,
                                    const std::string& model_dir, const Fields& fields);

// Adds --device alone.
CLI::Option* add_device_flag(
    CLI::App& command, std::string& device,
    const std::string& help = "cpu, gpu, tpu, or auto: a TPU or GPU if this machine has one");

// Adds --precision, --layers, --save, --mesh and the other flags for how a step is computed.
void add_form_flags(CLI::App& command, model::ComputeOptions& compute, model::MeshChoice& mesh);

}  // namespace smelt::cli
