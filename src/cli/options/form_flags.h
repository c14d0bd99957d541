// The flags of where and how a job's programs run, in the words of base/field_names.h's flag().
// What they are written to must live until the command line is parsed.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "model/train_step/sharding_plan.h"

namespace smelt {

struct RunFlags {
  std::optional<std::string> device;  // auto, cpu, gpu or tpu
  std::optional<std::int64_t> devices;
  ComputeOptions compute = {};
  MeshChoice mesh = {};
  std::int64_t micro_batches = 1;
  std::optional<Reduction> reduction = {};

  // Without --device it is the TPU with `tpu_cores`, if that many are asked for otherwise, else
  // auto (pjrt/hardware.h). Without --devices a TPU or GPU that auto has found is taken whole,
  // else one device.
  DeviceConfig on(std::optional<std::int64_t> tpu_cores = {}) const;
  // On so many devices of a TPU, wherever that is.
  DeviceConfig on_tpu(std::int64_t devices) const {
    return {.device = "tpu", .devices = devices, .mesh = mesh, .compute = compute};
  }
};

// --device, --devices, --micro-batches and those of add_form_flags(). `default_device` is help.
void add_run_flags(
    CLI::App& command, RunFlags& flags,
    const std::string& default_device = "the TPU or GPU that is there, else cpu",
    const std::string& default_devices = "all of a TPU or GPU that is so found, else 1");

// --reduction of programs that clip each device's own gradient and sum them over the devices.
// original_reduction() is what it says; else that of the run in `model_dir`, so that its devices
// may change; else per_replica where several devices share a batch without splitting parameters or
// slots. An empty model_dir holds no run.
void add_reduction_flag(CLI::App& command, RunFlags& flags);
Reduction original_reduction(const RunFlags& flags, const DeviceConfig& on,
                             const std::string& model_dir, const Fields& fields);

// --device alone, with its default.
CLI::Option* add_device_flag(CLI::App& command, std::string& device,
                             const std::string& help = "cpu, gpu, tpu, or auto: what is there");

// How a step is computed and spread over devices.
void add_form_flags(CLI::App& command, ComputeOptions& compute, MeshChoice& mesh);

}  // namespace smelt
