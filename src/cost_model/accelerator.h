// Accelerators that can be rented for training: TPU slices, by Google's names, and GPUs of one
// machine. Data from cloud.google.com/tpu/docs (types-topologies, v2, v3, v4, v5e, v5p, v6e, tpu7x,
// runtimes) and NVIDIA's data sheets (SXM modules of A100, H100 and H200).
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
  // libtpu's name: "v3:2x2". For GPUs, the topology of the TPUs whose compiler counts their
  // operations and bytes.
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
  // For a GPU: memory bandwidth in bytes/s, and peak FLOP/s of f32 matmuls with and without tf32. 0
  // for TPUs, whose compiler reports the time of a step.
  double bandwidth = 0, tf32_flops = 0, f32_flops = 0;

  bool is_gpu() const { return bandwidth > 0; }
  double seconds_of(double cycles) const;  // at the clock rate of a TPU chip
  // Returns the peak FLOP/s of matmuls with inputs of this type; `exact` is without tf32 on a GPU.
  // On a TPU it is always that of bf16.
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
Accelerator made_by_tpu_api(std::string_view where, std::string_view name);

// Returns the usual slice with this number of devices: a v3, else a v5e; nullptr if neither has
// such a slice.
const Accelerator* usual_slice(std::int64_t devices);
// Returns the slice with this number of devices of PJRT's device kind, such as "TPU v3"; nullptr if
// none is known.
const Accelerator* slice_of(std::string_view device_kind, std::int64_t devices);

// Returns the interconnect bandwidth of a chip of a generation, in bytes/s, both directions
// together.
double interconnect_bytes(std::string_view generation);

}  // namespace smelt::cost_model
