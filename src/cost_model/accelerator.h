// Accelerators that can be rented for training: TPU slices, by Google's names, and the GPUs of a
// single machine. Data from cloud.google.com/tpu/docs (types-topologies, v2, v3, v4, v5e, v5p, v6e,
// tpu7x, runtimes) and NVIDIA's data sheets (SXM modules of A100, H100 and H200).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/shape.h"

namespace smelt::cost_model {

// A TPU slice or a machine with GPUs.
struct Accelerator {
  std::string name;  // "v3-8", "v5litepod-8", "h100x8"
  // "v2", "v3", "v4", "v5e", "v5p", "v6e", "7x", "h100": prices are per chip of a generation.
  std::string generation;
  // Topology in libtpu's notation: "v3:2x2". Steps for GPUs are compiled for a TPU of this
  // topology, to count their operations and bytes.
  std::string topology;
  int chips = 0;
  // Devices visible to a run: two per chip of v2, v3 and 7x, else one. The two cores of a v4 chip
  // are one device.
  int devices = 0;
  int hosts = 0;  // virtual machines
  // The software version of the TPU VMs; "" if the TPU API does not create this type.
  std::string image;
  double flops = 0;   // peak bf16 FLOP/s of a device
  double memory = 0;  // bytes of a device, including a small part used by the runtime
  // For a GPU: memory bandwidth in bytes/s, and peak FLOP/s of f32 matmuls with and without tf32.
  // 0 for TPUs, because their compiler reports the time of a step.
  double bandwidth = 0, tf32_flops = 0, f32_flops = 0;

  bool is_gpu() const { return bandwidth > 0; }
  double seconds_of(double cycles) const;  // converts cycles of a TPU chip to seconds
  // Returns the peak FLOP/s of matmuls with inputs of this type. `exact` means f32 without tf32 on
  // a GPU. TPUs always have the rate of bf16.
  double flops_of(compiler::DType products, bool exact) const;

  bool operator==(const Accelerator&) const = default;
};

// Returns all known accelerators, by generation and size.
const std::vector<Accelerator>& accelerators();
// Parses a comma-separated list of names. "all": one host of each generation of TPUs, and v2-32;
// "gpus": one of each GPU. Throws UsageError that begins with `where` and suggests the nearest name
// if one is unknown.
std::vector<Accelerator> find_accelerators(std::string_view where, std::string_view names);

// Returns the TPU with this name that Google's TPU API can create. Throws UsageError for several
// names, a GPU, or a type that the API does not create.
Accelerator creatable_tpu(std::string_view where, std::string_view name);

// Returns the v3 slice with this number of devices, or else the v5e slice; nullptr if neither
// generation has one.
const Accelerator* usual_slice(std::int64_t devices);
// Returns the slice with this number of devices of a PJRT device kind, such as "TPU v3"; nullptr if
// it is unknown.
const Accelerator* slice_of(std::string_view device_kind, std::int64_t devices);

// Returns the interconnect bandwidth of a chip of a generation, in bytes/s, both directions
// together.
double interconnect_bytes(std::string_view generation);

}  // namespace smelt::cost_model
