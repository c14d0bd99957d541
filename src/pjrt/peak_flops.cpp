#include "pjrt/peak_flops.h"

#include <array>

namespace smelt {
namespace {

struct KnownPeak {
  std::string_view kind;  // the beginning of a device's
  double bf16;            // operations a second
};

// More special kinds before those that they begin with. cloud.google.com/tpu/docs (v3, v4, v5e,
// v5p, v6e, tpu7x: two devices a chip), NVIDIA's data sheets (without
// sparsity; SXM where no other form is named).
constexpr std::array<KnownPeak, 15> kPeaks{{{"TPU v2", 45e12 / 2},
                                            {"TPU v3", 123e12 / 2},
                                            {"TPU v4 lite", 137.5e12},
                                            {"TPU v4", 275e12},
                                            {"TPU v5 lite", 197e12},
                                            {"TPU v5e", 197e12},
                                            {"TPU v5", 459e12},
                                            {"TPU v6", 918e12},
                                            {"TPU7", 2307e12 / 2},
                                            {"NVIDIA H100 PCIe", 756e12},
                                            {"NVIDIA H100 NVL", 835e12},
                                            {"NVIDIA H100", 989e12},
                                            {"NVIDIA H200 NVL", 835e12},
                                            {"NVIDIA H200", 989e12},
                                            {"NVIDIA A100", 312e12}}};

}  // namespace

std::optional<double> peak_flops(std::string_view device_kind, DType products) {
  for (const KnownPeak& known : kPeaks) {
    if (!device_kind.starts_with(known.kind)) continue;
    const bool tf32 = products != DType::bf16 && device_kind.starts_with("NVIDIA");
    return tf32 ? known.bf16 / 2 : known.bf16;
  }
  return std::nullopt;
}

}  // namespace smelt
