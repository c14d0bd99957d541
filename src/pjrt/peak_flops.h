// How many operations a second a device's makers say that its matrix units do.
#pragma once

#include <optional>
#include <string_view>

#include "compiler/ir/shape.h"

namespace smelt {

// Of one PJRT device (on TPU v2 and v3 half a chip) by Client::device_kind(): dense products of
// bf16, or of f32 as the platform has them (a TPU's factors are bf16, a GPU's tf32, at half of
// bf16's). Nothing for a kind that is not known, as any CPU.
std::optional<double> peak_flops(std::string_view device_kind, DType products);

}  // namespace smelt
