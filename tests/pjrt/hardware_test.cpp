// The checks before a plugin is loaded, on simulated machines.
#include "pjrt/hardware.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "pjrt/client.h"
#include "pjrt/find_plugin.h"
#include "pjrt/plugin_lock.h"
#include "support/captured_log.h"
#include "support/environment.h"
#include "support/error_of.h"
#include "support/paths.h"

namespace smelt::pjrt {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

// Creates a file of a simulated machine and its folders.
void put(const std::string& path) {
  fs::create_directories(fs::path(path).parent_path());
  std::ofstream(path) << "x";
}

TEST(Hardware, WarnsIfSetupInstalledAnotherVersion) {
  const TempDir dir;
  const ScopedVariable data("XDG_DATA_HOME", dir.path());
  const CapturedLog log;
  const std::string plugin = dir.file("smelt/tpu/libtpu/libtpu.so");
  const auto warn_with = [&](const std::string& version) {
    std::ofstream(dir.file("smelt/tpu/.wheels")) << "libtpu==" << version << " \\\n    --hash=x\n";
    warn_of_other_version("tpu", plugin);
  };
  put(plugin);
  warn_of_other_version("tpu", plugin);  // not installed by smelt setup
  const std::string version = plugin_wheels("tpu").front().version;
  warn_with(version);
  warn_of_other_version("tpu", "/elsewhere/libtpu.so");
  EXPECT_EQ(log.text(), "");
  warn_with("0.0.1");
  EXPECT_THAT(log.text(), HasSubstr(str("device tpu: ", dir.file("smelt/tpu"),
                                        " contains libtpu 0.0.1, expected ", version,
                                        "; run `smelt setup tpu` to update it")));
}

TEST(Hardware, EnablesTheLaunchBarrierUnlessAlreadySet) {
  constexpr const char* variable = "LIBTPU_INIT_ARGS";
  const std::string on = "--xla_tpu_use_enhanced_launch_barrier=true";
  const auto with_barrier = [&](const std::string& before) {
    const ScopedVariable arguments(variable, before);
    enable_launch_barrier();
    return std::string(std::getenv(variable));
  };
  EXPECT_EQ(with_barrier(""), on);
  EXPECT_EQ(with_barrier("--a=1"), "--a=1 " + on);
  EXPECT_EQ(with_barrier(on), on);
  const std::string off = "--xla_tpu_use_enhanced_launch_barrier=false";
  EXPECT_EQ(with_barrier(off), off);
}

TEST(Hardware, RequireTpuThrowsWithoutATpu) {
  const TempDir dev;
  put(dev.file("null"));
  put(dev.file("accelerometer"));
  put(dev.file("vfio/vfio"));  // exists on every machine that can pass devices to a guest
  EXPECT_THAT(error_of<UsageError>([&] { require_tpu(dev.path()); }),
              AllOf(StartsWith(str("device tpu: no TPU on this machine; searched ",
                                   dev.file("accel0"), ", accel1 … and ", dev.file("vfio/0"))),
                    HasSubstr("hint: run on a TPU VM, or use --device cpu")));
}

TEST(Hardware, DetectsATpuByItsDeviceFiles) {
  for (const char* node : {"accel0", "accel3", "vfio/0", "vfio/12"}) {
    const TempDir dev;
    put(dev.file(node));
    EXPECT_EQ(error_of([&] { require_tpu(dev.path()); }), "no error") << node;
  }
}

TEST(Hardware, RequireNvidiaDriverThrowsWithoutADriver) {
  EXPECT_THAT(
      error_of<UsageError>([] { require_nvidia_driver("libno-such-driver.so.1"); }),
      AllOf(StartsWith("device gpu: no NVIDIA driver on this machine: libno-such-driver.so.1"),
            HasSubstr("hint: install the NVIDIA driver 580 or newer, or use --device cpu")));
  EXPECT_EQ(error_of([] { require_nvidia_driver("libc.so.6"); }), "no error");
}

TEST(Hardware, DoesNotLoadPluginsOfMissingDevices) {
  const TempDir dir;
  put(dir.file("xla_cuda_plugin.so"));
  put(dir.file("libtpu.so"));
  const ScopedVariable gpu("SMELT_GPU_PLUGIN", dir.file("xla_cuda_plugin.so"));
  const ScopedVariable tpu("SMELT_TPU_PLUGIN", dir.file("libtpu.so"));
  if (error_of([] { require_nvidia_driver(); }) != "no error") {
    EXPECT_THAT(error_of([] { open_device("gpu"); }), StartsWith("device gpu: no NVIDIA driver"));
  }
  if (error_of([] { require_tpu(); }) != "no error") {
    EXPECT_THAT(error_of([] { open_device("tpu"); }), StartsWith("device tpu: no TPU"));
  }
}

TEST(Hardware, AutoSelectsAPresentDeviceWithAPlugin) {
  const TempDir dir;
  const CapturedLog log;
  put(dir.file("libtpu.so"));
  put(dir.file("xla_cuda_plugin.so"));
  put(dir.file("gpus/nvidia0"));
  put(dir.file("both/nvidia0"));
  put(dir.file("both/accel0"));
  const auto device = [&](const std::string& dev, const std::string& driver = "libc.so.6") {
    return chosen_device("auto", {.dev = dir.file(dev), .driver = driver});
  };
  const ScopedVariable tpu("SMELT_TPU_PLUGIN", dir.file("libtpu.so"));
  {
    const ScopedVariable gpu("SMELT_GPU_PLUGIN", dir.file("xla_cuda_plugin.so"));
    EXPECT_EQ(device("none"), "cpu");
    EXPECT_EQ(device("gpus", "libnone.so"), "cpu");
    EXPECT_EQ(log.text(), "");
    EXPECT_EQ(device("both"), "tpu");
    EXPECT_THAT(log.text(), HasSubstr("device tpu: found, using plugin " + dir.file("libtpu.so")));
    EXPECT_EQ(device("gpus"), "gpu");
    EXPECT_EQ(chosen_device("cpu", {.dev = dir.file("both")}), "cpu");
  }
  const ScopedVariable gpu("SMELT_GPU_PLUGIN", "");
  if (error_of([] { find_plugin("gpu"); }) != "no error") {
    EXPECT_EQ(device("gpus"), "cpu");
    EXPECT_THAT(log.text(), HasSubstr("hint: run smelt setup gpu"));
  }
  const ScopedVariable other("SMELT_TPU_PLUGIN", SMELT_FAKE_PLUGIN);
  EXPECT_EQ(device("none"), "tpu");
}

TEST(Hardware, LoadsAPluginWithAnotherNameWithoutChecks) {
  const ScopedVariable tpu("SMELT_TPU_PLUGIN", SMELT_FAKE_PLUGIN);
  EXPECT_EQ(ready_plugin("tpu"), SMELT_FAKE_PLUGIN);
}

TEST(Hardware, LoadsCudaLibrariesInOrderOfDependency) {
  const TempDir dir;
  const std::string runtime = dir.file("nvidia/cu13/lib/libcudart.so.13");
  const std::string cudnn = dir.file("nvidia/cudnn/lib/libcudnn.so.9");
  for (const std::string& library : {cudnn, runtime}) {
    fs::create_directories(fs::path(library).parent_path());
    fs::copy_file(SMELT_NOT_A_PLUGIN, library);
  }
  EXPECT_THAT(load_cuda_libraries(dir.path()), ElementsAre(runtime, cudnn));
  EXPECT_NE(::dlopen(runtime.c_str(), RTLD_NOW | RTLD_NOLOAD), nullptr);
}

TEST(Hardware, WarnsIfACudaLibraryCannotBeLoaded) {
  const TempDir dir;
  put(dir.file("nvidia/nccl/lib/libnccl.so.2"));
  const CapturedLog log;
  EXPECT_THAT(load_cuda_libraries(dir.path()), IsEmpty());
  EXPECT_THAT(log.text(), AllOf(HasSubstr("device gpu: "), HasSubstr("libnccl.so.2")));
}

}  // namespace
}  // namespace smelt::pjrt
