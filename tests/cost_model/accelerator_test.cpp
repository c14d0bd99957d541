// Names and properties of TPU slices and GPUs, and their prices.
#include "cost_model/accelerator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "cost_model/prices.h"
#include "io/filesystem/file.h"
#include "support/error_of.h"
#include "support/paths.h"

namespace smelt::cost_model {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(Accelerator, FindsSlicesByGooglesNames) {
  const auto found =
      find_accelerators("--on", "v3-8,v2-32, v4-16,v5litepod-16,v5p-8,v6e-8,tpu7x-8");
  ASSERT_EQ(found.size(), 7u);
  EXPECT_EQ(found[0], (Accelerator{.name = "v3-8",
                                   .generation = "v3",
                                   .topology = "v3:2x2",
                                   .chips = 4,
                                   .devices = 8,
                                   .hosts = 1,
                                   .image = "tpu-ubuntu2204-base",
                                   .flops = 61.5e12,
                                   .memory = 16.0 * (1 << 30)}));
  EXPECT_NEAR(found[0].seconds_of(938e6), 1, 1e-3);
  const auto is = [&](std::size_t i, const char* topology, int chips, int devices, int hosts) {
    EXPECT_EQ(found[i].topology, topology);
    EXPECT_EQ(found[i].chips, chips) << topology;
    EXPECT_EQ(found[i].devices, devices) << topology;
    EXPECT_EQ(found[i].hosts, hosts) << topology;
  };
  is(1, "v2:4x4", 16, 32, 4);
  is(2, "v4:2x2x2", 8, 8, 2);
  EXPECT_EQ(found[2].flops, 275e12);
  EXPECT_EQ(found[2].memory, 32.0 * (1 << 30));
  EXPECT_EQ(slice_of("TPU v4", 8)->name, "v4-16");
  is(3, "v5e:4x4", 16, 16, 4);
  is(4, "v5p:2x2x1", 4, 4, 1);
  is(5, "v6e:2x4", 8, 8, 1);
  is(6, "tpu7x:2x2x1", 4, 8, 1);
}

TEST(Accelerator, PeakFlopsOfGpusDependOnTheInputType) {
  const auto found = find_accelerators("--on", "h100x8,l4");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_TRUE(found[0].is_gpu());
  EXPECT_EQ(found[0].devices, 8);
  EXPECT_EQ(found[0].hosts, 1);
  EXPECT_EQ(found[0].flops_of(compiler::DType::bf16, false), 989e12);
  EXPECT_EQ(found[0].flops_of(compiler::DType::f32, false), 494e12);
  EXPECT_EQ(found[0].flops_of(compiler::DType::f32, true), 67e12);
  EXPECT_EQ(find_accelerators("--on", "gpus").size(), 7u);
  for (const Accelerator& tpu : find_accelerators("--on", "all")) {
    EXPECT_FALSE(tpu.is_gpu());
    EXPECT_EQ(tpu.flops_of(compiler::DType::f32, false), tpu.flops);
  }
  EXPECT_EQ(slice_of("NVIDIA H100 80GB HBM3", 8)->name, "h100x8");
  EXPECT_EQ(slice_of("TPU v5 lite", 8)->name, "v5litepod-8");
  for (const char* other : {"NVIDIA T4", "NVIDIA L40S", "NVIDIA H100 PCIe", "NVIDIA H200 NVL",
                            "NVIDIA GeForce RTX 4090 D"})
    EXPECT_EQ(slice_of(other, 1), nullptr) << other;
  EXPECT_EQ(slice_of("NVIDIA L4", 1)->name, "l4");
  EXPECT_EQ(usual_slice(8)->name, "v3-8");
}

TEST(Accelerator, SuggestsTheNearestNameForAnUnknownOne) {
  EXPECT_THAT(error_of<UsageError>([] { find_accelerators("--on", "v3-8,v5e-8"); }),
              AllOf(HasSubstr("--on: 'v5e-8' is not a known TPU"),
                    HasSubstr("did you mean 'v5litepod-8'?")));
  EXPECT_THAT(error_of<UsageError>([] { find_accelerators("--on", "a100"); }),
              HasSubstr("did you mean 'a100-40gb'?"));
  EXPECT_THAT(error_of<UsageError>([] { find_accelerators("--on", "v3-9"); }),
              HasSubstr("did you mean 'v3-8'?"));
  EXPECT_THAT(
      error_of<UsageError>([] { find_accelerators("--on", "h100x3"); }),
      AllOf(HasSubstr("'h100x3' is not a known TPU or GPU type"), HasSubstr("did you mean 'h100")));
}

TEST(Accelerator, RejectsTypesThatTheTpuApiCannotCreate) {
  const auto refusal = [](const char* name) {
    return error_of<UsageError>([&] { creatable_tpu("--type", name); });
  };
  EXPECT_EQ(creatable_tpu("--type", "v6e-8").image, "v2-alpha-tpuv6e");
  EXPECT_THAT(refusal("v3-8,v2-8"), HasSubstr("--type: expected one type, got several"));
  EXPECT_THAT(refusal("l4"), HasSubstr("--type: l4 is a GPU, expected a TPU"));
  EXPECT_THAT(refusal("tpu7x-8"),
              HasSubstr("Google's TPU API does not create a tpu7x-8; use Compute"));
}

TEST(Prices, UserPricesTakePrecedence) {
  const TempDir dir;
  const std::string path = dir.file("prices.yaml");
  io::write_file(
      path,
      "- {generation: v3, region: europe-west4, on_demand: 2.2, spot: 0.66, source: mine, "
      "date: 2026-10}\n");
  const Prices prices(path);
  EXPECT_EQ(prices.find("v3")->on_demand, 2.2);
  EXPECT_EQ(prices.find("v3", "us-central1")->on_demand, 2.0);
  EXPECT_EQ(prices.find("v3", "asia-east1"), nullptr);
  EXPECT_EQ(prices.find("v5e")->on_demand, 1.2);
  EXPECT_EQ(prices.find("h100", "us-central1"), prices.find("h100"));  // of any region
  EXPECT_EQ(age_in_months(*prices.find("v3"), "2026-11"), 1);
  EXPECT_EQ(age_in_months(*prices.find("v5e"), "2026-11"), 21);
  EXPECT_EQ(old_price_warning(*prices.find("v3"), "2027-04"), "");
  EXPECT_EQ(old_price_warning(*prices.find("v3"), "2027-05"), "7 months old: check it");
  EXPECT_GE(this_month(), "2026-11");
}

TEST(Prices, RejectsAnInvalidFile) {
  const TempDir dir;
  const std::string path = dir.file("prices.yaml");
  const auto refusal = [&](const std::string& text) {
    io::write_file(path, text);
    return error_of<UsageError>([&] { const Prices prices(path); });
  };
  EXPECT_THAT(refusal("v3: 2"), HasSubstr("prices.yaml: expected a list of prices"));
  EXPECT_THAT(refusal("- {generation: v3}"), HasSubstr("prices.yaml:1: region is missing"));
  EXPECT_THAT(refusal("- {generation: v3, region: [a]}"),
              HasSubstr("prices.yaml:1: region is not a string"));
  const auto entry = [](const std::string& more) {
    return "- {generation: v3, region: r, source: s, " + more + "}\n";
  };
  EXPECT_THAT(refusal(entry("date: 2026-10, spot: -1")),
              HasSubstr("spot is '-1', expected US dollars"));
  EXPECT_THAT(refusal(entry("date: today")),
              AllOf(HasSubstr("date 'today' is invalid"), HasSubstr("write it as 2026-11")));
  EXPECT_THAT(refusal("- {"), HasSubstr("prices.yaml: "));
}

}  // namespace
}  // namespace smelt::cost_model
