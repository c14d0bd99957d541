// What can be rented to train on: TPU slices, by Google's names, and GPUs of one machine.
// cloud.google.com/tpu/docs: types-topologies, v2, v3, v4, v5e, v5p, v6e, tpu7x, runtimes; NVIDIA's
// data sheets (SXM modules of A100, H100 and H200).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/shape.h"

namespace smelt {

struct Accelerator {
  std::string name;  // "v3-8", "v5litepod-8", "h100x8"
  std::string
      generation;  // "v2", "v3", "v4", "v5e", "v5p", "v6e", "7x", "h100": as prices are by chip
  // libtpu's: "v3:2x2". Of GPUs that of the TPUs whose compiler counts operations and bytes for
  // them.
  std::string topology;
  int chips = 0;
  // Devices that a run sees: two on each chip of v2, v3 and 7x, else one. The two cores of a v4
  // chip are one device.
  int devices = 0;
  int hosts = 0;  // virtual machines
  // The version of the software that the machines start with; "" where the TPU API makes none.
  std::string image;
  double flops = 0;   // a second, of a device's products of bf16
  double memory = 0;  // bytes of a device, a small part of them the runtime's own
  // Of a GPU: bytes a second of its memory, operations a second of products of f32 by tf32 and as
  // they are. 0 of TPUs, whose compiler says how long a step takes.
  double bandwidth = 0, tf32_flops = 0, f32_flops = 0;

  bool is_gpu() const { return bandwidth > 0; }
  double seconds_of(double cycles) const;  // at a TPU chip's clock
  // Of products of so typed factors, in a GPU `exact` without tf32. A TPU's are bf16's at any rate.
  double flops_of(DType products, bool exact) const;

  bool operator==(const Accelerator&) const = default;
};

// By generation and size.
const std::vector<Accelerator>& accelerators();
// Those of a list of names; "all": one host of each generation of TPUs, and v2-32; "gpus": one of
// each GPU. UsageError beginning with `where` for an unknown one, with the nearest.
std::vector<Accelerator> find_accelerators(std::string_view where, std::string_view names);

// The one TPU of that name which a machine is made of by Google's TPU API. UsageError for several,
// a GPU, or what that API does not make.
Accelerator made_by_tpu_api(std::string_view where, std::string_view name);

// What is usually rented for so many devices: of v3, which has two a chip, or else v5e; nullptr
// where neither has a slice of so many.
const Accelerator* usual_slice(std::int64_t devices);
// The slice that shows this number of devices of PJRT's kind, for example "TPU v3", to a run;
// nullptr if none is known.
const Accelerator* slice_of(std::string_view device_kind, std::int64_t devices);

// What a chip of a generation tells others, bytes a second, in and out together.
double interconnect_bytes(std::string_view generation);

}  // namespace smelt
