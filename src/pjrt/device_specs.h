// Published figures of accelerators, by the device kind that PJRT reports.
#pragma once

#include <optional>
#include <string_view>

#include "compiler/ir/shape.h"

namespace smelt::pjrt {

// The functions return values for one PJRT device: a chip, or half a chip on TPU v2, v3 and TPU7x,
// which have two devices per chip. `device_kind` is Client::device_kind().

// Returns the peak FLOP/s of dense matmuls on bf16 operands, or on f32 operands in the platform's
// default precision (bf16 on a TPU; tf32 on a GPU, at half the speed of bf16). Returns nullopt for
// an unknown kind, such as any CPU.
std::optional<double> peak_flops(std::string_view device_kind, compiler::DType operands);

// Returns the memory in bytes, a small part of which the runtime needs itself. Returns nullopt for
// an unknown kind and for GPUs, which report their memory themselves.
std::optional<double> device_memory_bytes(std::string_view device_kind);

// Returns the HBM bandwidth in bytes per second, or 0 if unknown.
double hbm_bytes_per_second(std::string_view device_kind);

// Returns the floating-point operations per cycle of all matrix units, or 0 if unknown.
double cycle_flops(std::string_view device_kind);

}  // namespace smelt::pjrt
