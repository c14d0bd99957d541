#include "pjrt/device_specs.h"

#include <gtest/gtest.h>

namespace smelt {
namespace {

TEST(DeviceSpecs, PeakFlopsAreFoundByDeviceKind) {
  EXPECT_EQ(peak_flops("TPU v3", DType::f32), 61.5e12);  // half a chip; operands are bf16
  EXPECT_EQ(peak_flops("TPU v5 lite", DType::bf16), 197e12);
  EXPECT_EQ(peak_flops("TPU v5", DType::bf16), 459e12);
  EXPECT_EQ(peak_flops("TPU v5p", DType::bf16), 459e12);
  EXPECT_EQ(peak_flops("TPU v6 lite", DType::bf16), 918e12);
  EXPECT_EQ(peak_flops("NVIDIA H100 80GB HBM3", DType::bf16), 989e12);
  EXPECT_EQ(peak_flops("NVIDIA H100 80GB HBM3", DType::f32), 494.5e12);
  EXPECT_EQ(peak_flops("NVIDIA H100 PCIe", DType::bf16), 756e12);
  EXPECT_EQ(peak_flops("NVIDIA H200", DType::bf16), 989e12);
  EXPECT_FALSE(peak_flops("cpu", DType::f32));
  EXPECT_FALSE(peak_flops("", DType::f32));
}

}  // namespace
}  // namespace smelt
