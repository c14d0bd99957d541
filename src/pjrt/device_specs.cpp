#include "pjrt/device_specs.h"

#include <algorithm>
#include <array>

namespace smelt::pjrt {
namespace {

struct DeviceSpec {
  std::string_view kind;            // prefix of the device kind
  double bf16_flops;                // per second
  double memory_gib = 0;            // 0: unknown
  double hbm_bytes_per_second = 0;  // 0: unknown
  double cycle_flops = 0;           // 0: unknown
};

// FLOPs per cycle of a matrix unit of 128 x 128.
constexpr double kUnit = 2.0 * 128 * 128;

// Longer kinds come before their prefixes. Sources: cloud.google.com/tpu/docs, chip figures divided
// by devices per chip; NVIDIA's data sheets without sparsity, SXM unless another form is named.
// Matrix units of 128 x 128 per core: one on v2, two on v3, four on v4 (two cores) and v5e, eight
// on v5p. v6e has four units of 256 x 256; the same is assumed for each of the two cores of TPU7x.
constexpr std::array<DeviceSpec, 15> kSpecs{{{"TPU v2", 45e12 / 2, 8, 350e9, kUnit},
                                             {"TPU v3", 123e12 / 2, 16, 450e9, 2 * kUnit},
                                             {"TPU v4 lite", 137.5e12, 8, 600e9, 4 * kUnit},
                                             {"TPU v4", 275e12, 32, 600e9, 8 * kUnit},
                                             {"TPU v5 lite", 197e12, 16, 819e9, 4 * kUnit},
                                             {"TPU v5e", 197e12, 16, 819e9, 4 * kUnit},
                                             {"TPU v5", 459e12, 95, 2765e9, 8 * kUnit},
                                             {"TPU v6", 918e12, 32, 1640e9, 16 * kUnit},
                                             {"TPU7", 2307e12 / 2, 96, 7380e9 / 2, 16 * kUnit},
                                             {"NVIDIA H100 PCIe", 756e12},
                                             {"NVIDIA H100 NVL", 835e12},
                                             {"NVIDIA H100", 989e12},
                                             {"NVIDIA H200 NVL", 835e12},
                                             {"NVIDIA H200", 989e12},
                                             {"NVIDIA A100", 312e12}}};

const DeviceSpec* spec_of(std::string_view device_kind) {
  const auto* found = std::ranges::find_if(
      kSpecs, [&](const DeviceSpec& spec) { return device_kind.starts_with(spec.kind); });
  return found == kSpecs.end() ? nullptr : found;
}

}  // namespace

std::optional<double> peak_flops(std::string_view device_kind, compiler::DType operands) {
  const DeviceSpec* spec = spec_of(device_kind);
  if (spec == nullptr) return std::nullopt;
  const bool tf32 = operands != compiler::DType::bf16 && device_kind.starts_with("NVIDIA");
  return tf32 ? spec->bf16_flops / 2 : spec->bf16_flops;
}

std::optional<double> device_memory_bytes(std::string_view device_kind) {
  const DeviceSpec* spec = spec_of(device_kind);
  if (spec == nullptr || spec->memory_gib == 0) return std::nullopt;
  return spec->memory_gib * 1024 * 1024 * 1024;
}

double hbm_bytes_per_second(std::string_view device_kind) {
  const DeviceSpec* spec = spec_of(device_kind);
  return spec == nullptr ? 0 : spec->hbm_bytes_per_second;
}

double cycle_flops(std::string_view device_kind) {
  const DeviceSpec* spec = spec_of(device_kind);
  return spec == nullptr ? 0 : spec->cycle_flops;
}

}  // namespace smelt::pjrt
