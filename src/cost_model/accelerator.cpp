#include "cost_model/accelerator.h"

#include <algorithm>
#include <map>
#include <ranges>
#include <sstream>
#include <string>

#include "base/error.h"
#include "base/nearest_name.h"
#include "pjrt/step_cycles.h"

namespace smelt::cost_model {
namespace {

struct Generation {
  const char *name, *prefix, *libtpu, *kind;
  int named_by;       // what the number in the name counts: 1: chips, 2: cores (two per chip)
  int devices;        // per chip
  int single_host;    // maximum chips of a single-host slice; larger slices have four per host
  double flops, gib;  // per chip
  const char *image, *shapes;
};

constexpr const char *kOldImage = "tpu-ubuntu2204-base",
                     *kFlat = "1x1 2x2 2x4 4x4 4x8 8x8 8x16 16x16",
                     *kCubes = "2x2x1 2x2x2 2x2x4 2x4x4 4x4x4 4x4x8 4x8x8 8x8x8";

constexpr Generation kGenerations[] = {
    {"v2", "v2-", "v2", "TPU v2", 2, 2, 4, 45e12, 16, kOldImage, "2x2 4x4 8x8 8x16 16x16"},
    {"v3", "v3-", "v3", "TPU v3", 2, 2, 4, 123e12, 32, kOldImage,
     "2x2 4x4 4x8 8x8 8x16 16x16 16x32 32x32"},
    {"v4", "v4-", "v4", "TPU v4", 2, 1, 4, 275e12, 32, kOldImage, kCubes},
    {"v5e", "v5litepod-", "v5e", "TPU v5 lite", 1, 1, 8, 197e12, 16, "v2-alpha-tpuv5-lite", kFlat},
    {"v5p", "v5p-", "v5p", "TPU v5", 2, 1, 4, 459e12, 95, "v2-alpha-tpuv5", kCubes},
    {"v6e", "v6e-", "v6e", "TPU v6 lite", 1, 1, 8, 918e12, 32, "v2-alpha-tpuv6e", kFlat},
    {"7x", "tpu7x-", "tpu7x", "TPU7x", 2, 2, 4, 2307e12, 192, "", kCubes}};

struct Gpu {
  const char *name, *kind;
  double flops, tf32, f32, bandwidth, gib;
  double links;  // bytes/s in both directions: NVLink, else PCIe 4.0 x16
};

// Peak FLOP/s of bf16 matmuls with f32 accumulation, without sparsity.
constexpr Gpu kGpus[] = {
    {"a100-40gb", "NVIDIA A100-SXM4-40GB", 312e12, 156e12, 19.5e12, 1555e9, 39.5, 600e9},
    {"a100-80gb", "NVIDIA A100-SXM4-80GB", 312e12, 156e12, 19.5e12, 2039e9, 79.6, 600e9},
    {"h100", "NVIDIA H100", 989e12, 494e12, 67e12, 3350e9, 79.6, 900e9},
    {"h200", "NVIDIA H200", 989e12, 494e12, 67e12, 4800e9, 140, 900e9},
    {"l4", "NVIDIA L4", 121e12, 60e12, 30.3e12, 300e9, 22.5, 64e9},
    {"rtx4090", "NVIDIA GeForce RTX 4090", 165e12, 82.6e12, 82.6e12, 1008e9, 24, 64e9},
    {"rtx3090", "NVIDIA GeForce RTX 3090", 71e12, 35.6e12, 35.6e12, 936e9, 24, 64e9}};

constexpr double kGib = 1024 * 1024 * 1024;

const Generation& generation_of(std::string_view name) {
  const auto* found = std::ranges::find(kGenerations, name, &Generation::name);
  CHECK(found != std::end(kGenerations), name);
  return *found;
}

int chips_of(const std::string& shape) {
  int out = 1;
  for (const std::string_view side : split(shape, 'x')) out *= std::stoi(std::string(side));
  return out;
}

Accelerator accelerator(const Generation& g, const std::string& shape) {
  const int chips = chips_of(shape);
  return {.name = str(g.prefix, chips * g.named_by),
          .generation = g.name,
          .topology = str(g.libtpu, ":", shape),
          .chips = chips,
          .devices = chips * g.devices,
          .hosts = chips <= g.single_host ? 1 : chips / 4,
          .image = g.image,
          .flops = g.flops / g.devices,
          .memory = g.gib / g.devices * kGib};
}

// Uses the topology of v5p, whose memory is closest to that of a GPU.
Accelerator accelerator(const Gpu& g, int count) {
  return {.name = str(g.name, count > 1 ? str("x", count) : ""),
          .generation = g.name,
          .topology = count > 4 ? "v5p:2x2x2" : "v5p:2x2x1",
          .chips = count,
          .devices = count,
          .hosts = 1,
          .image = "",
          .flops = g.flops,
          .memory = g.gib * kGib,
          .bandwidth = g.bandwidth,
          .tf32_flops = g.tf32,
          .f32_flops = g.f32};
}

std::string kind_of(const Accelerator& a) {
  if (!a.is_gpu()) return generation_of(a.generation).kind;
  return std::ranges::find(kGpus, a.generation, &Gpu::name)->kind;
}

}  // namespace

const std::vector<Accelerator>& accelerators() {
  static const std::vector<Accelerator> kAll = [] {
    std::vector<Accelerator> out;
    for (const Generation& g : kGenerations) {
      std::istringstream shapes(g.shapes);
      for (std::string shape; shapes >> shape;) out.push_back(accelerator(g, shape));
    }
    for (const Gpu& g : kGpus)
      for (const int count : {1, 2, 4, 8}) out.push_back(accelerator(g, count));
    return out;
  }();
  return kAll;
}

namespace {

// Returns the full name for a common short form, such as "v5litepod-8" for "v5e-8", or "a100-40gb"
// for "a100"; "" for other names.
std::string canonical_name(const std::string& name) {
  std::string google = name;
  for (const Generation& g : kGenerations)
    if (const std::string chip = str(g.name, "-"); name.starts_with(chip))
      google = g.prefix + name.substr(chip.size());
  if (name.empty()) return {};
  for (const Accelerator& a : accelerators())
    if (a.name == google || (a.is_gpu() && a.name.starts_with(name + "-"))) return a.name;
  return {};
}

[[noreturn]] void throw_no_type(std::string_view where, const std::string& name) {
  std::vector<std::string> known;
  for (const Accelerator& a : accelerators()) known.push_back(a.name);
  const std::string called = canonical_name(name);
  throw UsageError(
      str(where, ": '", name, "' is not a known TPU or GPU type"),
      called.empty() ? did_you_mean(name, known) : str("did you mean '", called, "'?"));
}

}  // namespace

std::vector<Accelerator> find_accelerators(std::string_view where, std::string_view names) {
  if (names == "gpus") names = "a100-40gb,a100-80gb,h100,h200,l4,rtx4090,rtx3090";
  if (names == "all") names = "v2-8,v2-32,v3-8,v4-8,v5litepod-8,v5p-8,v6e-8";
  std::vector<Accelerator> out;
  for (const std::string_view item : split(names, ',')) {
    const std::string name(trim(item));
    const auto found = std::ranges::find(accelerators(), name, &Accelerator::name);
    if (found == accelerators().end()) throw_no_type(where, name);
    if (std::ranges::find(out, *found) == out.end()) out.push_back(*found);
  }
  return out;
}

Accelerator creatable_tpu(std::string_view where, std::string_view name) {
  const auto types = find_accelerators(where, name);
  if (types.size() != 1)
    throw UsageError(str(where, ": expected one type, got several"), "name a single type");
  const Accelerator& type = types.front();
  if (type.is_gpu())
    throw UsageError(str(where, ": ", type.name, " is a GPU, expected a TPU"),
                     "give a TPU, such as v5litepod-8");
  if (type.image.empty())
    throw UsageError(str(where, ": Google's TPU API does not create a ", type.name,
                         "; use Compute Engine or GKE"),
                     "use `smelt pod manifest --kind jobset`, or another TPU, such as v5litepod-8");
  return type;
}

const Accelerator* usual_slice(std::int64_t devices) {
  for (const std::string_view generation : {"v3", "v5e"})
    for (const Accelerator& a : accelerators())
      if (a.generation == generation && a.devices == devices) return &a;
  return nullptr;
}

namespace {

// Returns whether PJRT reports `device_kind` for accelerator `a`. A GPU's kind may end with its
// memory type; any other suffix means another card.
bool is_of_kind(std::string_view device_kind, const Accelerator& a) {
  if (device_kind == kind_of(a)) return true;
  if (!a.is_gpu() || !device_kind.starts_with(kind_of(a))) return false;
  const std::string_view rest = device_kind.substr(kind_of(a).size());
  return rest.starts_with(' ') && rest.ends_with(" HBM3");
}

}  // namespace

const Accelerator* slice_of(std::string_view device_kind, std::int64_t devices) {
  for (const Accelerator& a : accelerators())
    if (a.devices == devices && is_of_kind(device_kind, a)) return &a;
  return nullptr;
}

double Accelerator::seconds_of(double cycles) const {
  return smelt::pjrt::seconds_of(cycles, generation_of(generation).kind);
}

double Accelerator::flops_of(compiler::DType products, bool exact) const {
  if (!is_gpu() || products == compiler::DType::bf16) return flops;
  return exact ? f32_flops : tf32_flops;
}

// Sources: v2 and v3: Jouppi et al., "A domain-specific supercomputer for training deep neural
// networks", four links of 496 and 656 Gbit/s in each direction; v4: six links of 45 GB/s in each
// direction (jax-ml/scaling-book); others: Google's pages listed in accelerator.h.
double interconnect_bytes(std::string_view generation) {
  if (const auto* gpu = std::ranges::find(kGpus, generation, &Gpu::name); gpu != std::end(kGpus))
    return gpu->links;
  static const std::map<std::string_view, double> kKnown{
      {"v2", 496e9},   {"v3", 656e9},  {"v4", 540e9}, {"v5e", 400e9},
      {"v5p", 1200e9}, {"v6e", 800e9}, {"7x", 1200e9}};
  return kKnown.at(generation);
}

}  // namespace smelt::cost_model
