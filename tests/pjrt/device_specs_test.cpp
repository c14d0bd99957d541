#include "pjrt/device_specs.h"

#include <gtest/gtest.h>

namespace smelt::pjrt {
namespace {

TEST(DeviceSpecs, PeakFlopsAreFoundByDeviceKind) {
  EXPECT_EQ(peak_flops("TPU v3", compiler::DType::f32), 61.5e12);  // half a chip; operands are bf16
  EXPECT_EQ(peak_flops("TPU v5 lite", compiler::DType::bf16), 197e12);
  EXPECT_EQ(peak_flops("TPU v5", compiler::DType::bf16), 459e12);
  EXPECT_EQ(peak_flops("TPU v5p", compiler::DType::bf16), 459e12);
  EXPECT_EQ(peak_flops("TPU v6 lite", compiler::DType::bf16), 918e12);
  EXPECT_EQ(peak_flops("NVIDIA H100 80GB HBM3", compiler::DType::bf16), 989e12);
  EXPECT_EQ(peak_flops("NVIDIA H100 80GB HBM3", compiler::DType::f32), 494.5e12);
  EXPECT_EQ(peak_flops("NVIDIA H100 PCIe", compiler::DType::bf16), 756e12);
  EXPECT_EQ(peak_flops("NVIDIA H200", compiler::DType::bf16), 989e12);
  EXPECT_FALSE(peak_flops("cpu", compiler::DType::f32));
  EXPECT_FALSE(peak_flops("", compiler::DType::f32));
}

}  // namespace
}  // namespace smelt::pjrt
