#include "pjrt/device_memory.h"

#include <array>

namespace smelt {
namespace {

struct KnownMemory {
  std::string_view kind;  // the beginning of a device's
  double gib;
};

// More special kinds before those that they begin with.
constexpr std::array<KnownMemory, 9> kMemories{{{"TPU v2", 8},
                                                {"TPU v3", 16},
                                                {"TPU v4 lite", 8},
                                                {"TPU v4", 32},
                                                {"TPU v5 lite", 16},
                                                {"TPU v5e", 16},
                                                {"TPU v5", 95},
                                                {"TPU v6", 32},
                                                {"TPU7", 96}}};

}  // namespace

std::optional<double> device_memory_bytes(std::string_view device_kind) {
  for (const KnownMemory& known : kMemories)
    if (device_kind.starts_with(known.kind)) return known.gib * 1024 * 1024 * 1024;
  return std::nullopt;
}

}  // namespace smelt
