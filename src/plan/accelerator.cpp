#include "plan/accelerator.h"

#include <algorithm>
#include <map>
#include <ranges>
#include <sstream>

#include "base/error.h"
#include "base/nearest_name.h"
#include "runtime/step_cycles.h"

namespace smelt {
namespace {

struct Generation {
  const char *name, *prefix, *libtpu, *kind;
  int named_by;       // 1: by chips, 2: by cores, of which a chip has two
  int devices;        // of a chip
  int single_host;    // most chips that one machine holds; of a slice of several each has four
  double flops, gib;  // of a chip
  const char *image, *shapes;
};

constexpr const char *kOldImage = "tpu-ubuntu2204-base",
                     *kFlat = "1x1 2x2 2x4 4x4 4x8 8x8 8x16 16x16",
                     *kCubes = "2x2x1 2x2x2 2x2x4 2x4x4 4x4x4 4x4x8 4x8x8 8x8x8";

constexpr Generation kGenerations[] = {
    {"v2", "v2-", "v2", "TPU v2", 2, 2, 4, 45e12, 16, kOldImage, "2x2 4x4 8x8 8x16 16x16"},
    {"v3", "v3-", "v3", "TPU v3", 2, 2, 4, 123e12, 32, kOldImage,
     "2x2 4x4 4x8 8x8 8x16 16x16 16x32 32x32"},
    {"v4", "v4-", "v4", "TPU v4", 2, 2, 4, 275e12, 32, kOldImage, kCubes},
    {"v5e", "v5litepod-", "v5e", "TPU v5 lite", 1, 1, 8, 197e12, 16, "v2-alpha-tpuv5-lite", kFlat},
    {"v5p", "v5p-", "v5p", "TPU v5", 2, 1, 4, 459e12, 95, "v2-alpha-tpuv5", kCubes},
    {"v6e", "v6e-", "v6e", "TPU v6 lite", 1, 1, 8, 918e12, 32, "v2-alpha-tpuv6e", kFlat}};

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
          .memory = g.gib / g.devices * 1024 * 1024 * 1024};
}

}  // namespace

const std::vector<Accelerator>& accelerators() {
  static const std::vector<Accelerator> kAll = [] {
    std::vector<Accelerator> out;
    for (const Generation& g : kGenerations) {
      std::istringstream shapes(g.shapes);
      for (std::string shape; shapes >> shape;) out.push_back(accelerator(g, shape));
    }
    return out;
  }();
  return kAll;
}

std::vector<Accelerator> find_accelerators(std::string_view where, std::string_view names) {
  if (names == "all") names = "v2-8,v2-32,v3-8,v4-8,v5litepod-8,v5p-8,v6e-8";
  std::vector<Accelerator> out;
  for (const std::string_view item : split(names, ',')) {
    const std::string name(trim(item));
    const auto found = std::ranges::find(accelerators(), name, &Accelerator::name);
    if (found == accelerators().end()) {
      std::vector<std::string> known;
      for (const Accelerator& a : accelerators()) known.push_back(a.name);
      throw UsageError(str(where, ": '", name, "' is no type of TPU"), did_you_mean(name, known));
    }
    if (std::ranges::find(out, *found) == out.end()) out.push_back(*found);
  }
  return out;
}

const Accelerator* usual_slice(std::int64_t devices) {
  for (const std::string_view generation : {"v3", "v5e"})
    for (const Accelerator& a : accelerators())
      if (a.generation == generation && a.devices == devices) return &a;
  return nullptr;
}

const Accelerator* slice_of(std::string_view device_kind, std::int64_t devices) {
  for (const Accelerator& a : accelerators())
    if (generation_of(a.generation).kind == device_kind && a.devices == devices) return &a;
  return nullptr;
}

double Accelerator::seconds_of(double cycles) const {
  return smelt::seconds_of(cycles, generation_of(generation).kind);
}

// v2 and v3: Jouppi et al., "A domain-specific supercomputer for training deep neural networks",
// four links of 496 and 656 Gbit/s each way; v4: six links of 45 GB/s each way
// (jax-ml/scaling-book); the others: the pages of Google's that accelerator.h names.
double interconnect_bytes(std::string_view generation) {
  static const std::map<std::string_view, double> kKnown{
      {"v2", 496e9}, {"v3", 656e9}, {"v4", 540e9}, {"v5e", 400e9}, {"v5p", 1200e9}, {"v6e", 800e9}};
  return kKnown.at(generation);
}

}  // namespace smelt
