// Loading plugins, and all of pjrt/ on a plugin without XLA that fails on request.
#include "pjrt/plugin.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "pjrt/executable.h"
#include "pjrt/fake_plugin.h"
#include "pjrt/topology.h"
#include "support/environment.h"
#include "support/paths.h"

namespace smelt::pjrt {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

template <class E>
std::string message_of(const auto& action) {
  try {
    action();
  } catch (const E& error) {
    return error.what();
  }
  return "nothing was thrown";
}

FakeControl& control(const std::string& path = SMELT_FAKE_PLUGIN) {
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  CHECK(library != nullptr);
  return *reinterpret_cast<FakeControlFunction>(::dlsym(library, "fake_control"))();
}

// Copies the fake plugin: another file is loaded as another library with its own state.
std::string copy_of_fake(const TempDir& dir, const std::string& name) {
  fs::copy_file(SMELT_FAKE_PLUGIN, dir.file(name));
  return dir.file(name);
}

pjrt_abi::Api& api(const std::string& path) {
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  CHECK(library != nullptr);
  return *reinterpret_cast<FakeApiFunction>(::dlsym(library, "GetPjrtApi"))();
}

TEST(PluginLoad, NamesAMissingFile) {
  EXPECT_THAT(message_of<UsageError>([] { Plugin::load("no/such/plugin.so"); }),
              AllOf(StartsWith("plugin: no/such/plugin.so: No such file"), HasSubstr("hint: ")));
}

TEST(PluginLoad, RejectsATextFile) {
  const TempDir dir;
  std::ofstream(dir.file("notes.txt")) << std::string(5000, 'x');
  EXPECT_THAT(message_of<UsageError>([&] { Plugin::load(dir.file("notes.txt")); }),
              AllOf(HasSubstr("notes.txt: invalid ELF header"),
                    HasSubstr("hint: use a PJRT plugin: a shared library")));
}

TEST(PluginLoad, RejectsALibraryWithoutGetPjrtApi) {
  EXPECT_THAT(message_of<UsageError>([] { Plugin::load(SMELT_NOT_A_PLUGIN); }),
              AllOf(HasSubstr("does not export GetPjrtApi"), HasSubstr("hint: use a PJRT plugin")));
}

TEST(PluginLoad, RejectsAnotherMajorVersion) {
  const TempDir dir;
  const std::string path = copy_of_fake(dir, "major.so");
  api(path).version.major_version = 1;
  EXPECT_THAT(message_of<UsageError>([&] { Plugin::load(path); }),
              AllOf(HasSubstr("major.so has PJRT ABI version 1.90, expected 0.x"),
                    HasSubstr("hint: install the plugin version")));
}

TEST(PluginLoad, NamesAFunctionThatAnOldPluginLacks) {
  const TempDir dir;
  const std::string path = copy_of_fake(dir, "old.so");
  // The function table of a plugin from before PJRT_Compile (index 89) was added.
  api(path).struct_size = offsetof(pjrt_abi::Api, functions) + 89 * sizeof(void*);
  const Topology topology = Topology::create(Plugin::load(path), "any");
  EXPECT_THAT(message_of<SystemError>([&] { topology.compile("", {}); }),
              AllOf(HasSubstr("old.so (PJRT 0.90) is too old: it lacks PJRT_Compile"),
                    HasSubstr("hint: install a newer version of the plugin")));
}

TEST(PluginLoad, ReportsAFailedInitialization) {
  const TempDir dir;
  const std::string path = copy_of_fake(dir, "unready.so");
  control(path).fail_function = "PJRT_Plugin_Initialize";
  control(path).fail_text = "no driver";
  EXPECT_EQ(message_of<PjrtError>([&] { Plugin::load(path); }),
            "PJRT_Plugin_Initialize: no driver");
  EXPECT_EQ(control(path).live["error"], 0);
}

TEST(PluginLoad, LoadsAFileOnce) {
  EXPECT_EQ(Plugin::load(SMELT_FAKE_PLUGIN), Plugin::load(SMELT_FAKE_PLUGIN));
}

TEST(OpenDevice, RejectsMoreDevicesThanAvailable) {
  const ScopedVariable variable("SMELT_GPU_PLUGIN", SMELT_FAKE_PLUGIN);
  EXPECT_THAT(message_of<UsageError>([] { open_device("gpu", 4); }),
              StartsWith("device gpu: 4 devices requested, 1 available"));
}

TEST(OpenDevice, OpensADeviceOnceWhileClientsAreKept) {
  const ScopedVariable variable("SMELT_GPU_PLUGIN", SMELT_FAKE_PLUGIN);
  const std::shared_ptr<const Plugin> plugin = Plugin::load(SMELT_FAKE_PLUGIN);
  control().reset();
  {
    const ClientCache kept;
    open_device("gpu", 1);
    open_device("gpu");
    EXPECT_THAT(message_of<UsageError>([] { open_device("gpu", 4); }), HasSubstr("1 available"));
    EXPECT_EQ(control().calls["PJRT_Client_Create"], 1);
    EXPECT_EQ(control().live["client"], 1);
  }
  EXPECT_EQ(control().live["client"], 0);
  open_device("gpu");
  EXPECT_EQ(control().calls["PJRT_Client_Create"], 2);
}

class FakePlugin : public testing::Test {
 protected:
  void SetUp() override {
    plugin_ = Plugin::load(SMELT_FAKE_PLUGIN);
    control().reset();
  }
  void TearDown() override { expect_nothing_alive(); }

  static void expect_nothing_alive() {
    for (const auto& [kind, count] : control().live) EXPECT_EQ(count, 0) << kind;
  }

  // Uses everything that pjrt/ offers, on two devices.
  void everything() const {
    const auto client = Client::create(plugin_, {{"cpu_device_count", std::int64_t{2}}});
    client->platform_name();
    client->memory_stats();
    const Executable program = client->compile("module {}");
    program.program().memory();
    program.program().cost();
    const Executable again = client->load(program.program().serialize());
    const compiler::Shape shape{.dtype = compiler::DType::f32, .dims = {2}};
    std::vector<Buffer> x;
    for (int device = 0; device < 2; ++device) {
      x.push_back(to_device<float>(*client, {1, 2}, shape, device));
      x.push_back(to_device<float>(*client, {3, 4}, shape, device));
    }
    Execution run = again.execute({{&x[0], &x[1]}, {&x[2], &x[3]}});
    run.await();
    x[0] = std::move(run.results[1][0]);
    x[0].await();
    x[0].deleted();
    EXPECT_THAT(x[0].to_host<float>(), ElementsAre(1, 2));
    EXPECT_THAT(run.results[0][1].to_host<float>(), ElementsAre(3, 4));
    const Topology topology = Topology::create(plugin_, "any");
    EXPECT_EQ(topology.device_count(), 3);
    EXPECT_EQ(topology.compile("module {}", {}).memory().peak_bytes, 11);
  }

  std::shared_ptr<const Plugin> plugin_;
};

TEST_F(FakePlugin, LeaksNothing) {
  everything();
  EXPECT_GE(control().calls.size(), 25u);
}

TEST_F(FakePlugin, LeaksNothingIfAnyCallFails) {
  everything();
  const auto calls = control().calls;
  for (const auto& [function, count] : calls) {
    for (int at = 1; at <= count; ++at) {
      SCOPED_TRACE(str(function, " call ", at));
      control().reset();
      control().fail_function = function;
      control().fail_at = at;
      control().fail_text = "the fake says no";
      if (function.ends_with("_Destroy")) {
        everything();  // is logged, never thrown
        EXPECT_EQ(control().calls[function], count);
      } else {
        EXPECT_EQ(message_of<PjrtError>([&] { everything(); }),
                  str(function, ": the fake says no"));
      }
      expect_nothing_alive();
    }
  }
}

TEST_F(FakePlugin, LeaksNothingIfAsynchronousWorkFails) {
  everything();
  const auto made = control().made;
  EXPECT_EQ(made.size(), 4u);  // to device, execute, ready, to host
  for (const auto& [function, count] : made) {
    for (int at = 1; at <= count; ++at) {
      SCOPED_TRACE(str(function, " event ", at));
      control().reset();
      control().fail_function = function;
      control().fail_at = at;
      control().fail_late = true;
      control().fail_text = "too hot";
      EXPECT_EQ(message_of<PjrtError>([&] { everything(); }), "PJRT_Event_Await: too hot");
      expect_nothing_alive();
    }
  }
}

TEST_F(FakePlugin, KeepsThePluginsErrorCode) {
  control().fail_function = "PJRT_Client_Compile";
  control().fail_code = pjrt_abi::ErrorCode::resource_exhausted;
  const auto client = Client::create(plugin_);
  try {
    client->compile("module {}");
    FAIL();
  } catch (const PjrtError& error) {
    EXPECT_EQ(error.code(), pjrt_abi::ErrorCode::resource_exhausted);
  }
}

TEST_F(FakePlugin, MemoryStatsAreNulloptIfUnsupported) {
  const auto client = Client::create(plugin_);
  EXPECT_EQ(client->memory_stats()->in_use_bytes, 5);
  EXPECT_EQ(client->memory_stats()->limit_bytes, 7);
  EXPECT_EQ(client->memory_stats()->peak_bytes, std::nullopt);
  control().calls.clear();
  control().fail_function = "PJRT_Device_MemoryStats";
  control().fail_code = pjrt_abi::ErrorCode::unimplemented;
  EXPECT_FALSE(client->memory_stats().has_value());
}

TEST_F(FakePlugin, DonatedBufferIsDeletedAndCanBeAssigned) {
  control().donate_first = true;
  const auto client = Client::create(plugin_);
  const Executable program = client->compile("module {}");
  const compiler::Shape shape{.dtype = compiler::DType::f32, .dims = {1}};
  Buffer x = to_device<float>(*client, {1}, shape);
  const Buffer y = to_device<float>(*client, {2}, shape);
  for (int step = 0; step < 3; ++step) {
    Execution run = program.execute({{&x, &y}});
    EXPECT_TRUE(x.deleted());
    EXPECT_FALSE(y.deleted());
    x = std::move(run.results[0][0]);
    EXPECT_FALSE(x.deleted());
  }
}

TEST_F(FakePlugin, AwaitReportsAnExecutionThatFailsLate) {
  control().fail_function = "PJRT_LoadedExecutable_Execute";
  control().fail_at = 2;  // the second device
  control().fail_late = true;
  control().fail_text = "core 1 halted";
  const auto client = Client::create(plugin_, {{"cpu_device_count", std::int64_t{2}}});
  const Executable program = client->compile("module {}");
  const compiler::Shape one{.dtype = compiler::DType::f32, .dims = {1}};
  const Buffer x = to_device<float>(*client, {1}, one), y = to_device<float>(*client, {1}, one, 1);
  const Execution run = program.execute({{&x, &x}, {&y, &y}});
  EXPECT_EQ(message_of<PjrtError>([&] { run.await(); }), "PJRT_Event_Await: core 1 halted");
}

TEST_F(FakePlugin, DestroyingAnExecutionDoesNotWait) {
  const auto client = Client::create(plugin_);
  const Executable program = client->compile("module {}");
  const compiler::Shape shape{.dtype = compiler::DType::f32, .dims = {1}};
  const Buffer x = to_device<float>(*client, {1}, shape);
  program.execute({{&x, &x}});
  EXPECT_EQ(control().live["buffer"], 1);
  EXPECT_EQ(control().live["event"], 0);
}

TEST_F(FakePlugin, BuffersKeepTheirClientAlive) {
  auto client = Client::create(plugin_);
  {
    const Buffer x = to_device<float>(*client, {1}, {.dtype = compiler::DType::f32, .dims = {1}});
    client.reset();
    EXPECT_EQ(control().live["client"], 1);
    EXPECT_THAT(x.to_host<float>(), ElementsAre(1));
  }
  EXPECT_EQ(control().live["client"], 0);
}

TEST_F(FakePlugin, RejectsValuesThatDoNotFitTheirShape) {
  const auto client = Client::create(plugin_);
  const compiler::Shape shape{.dtype = compiler::DType::f32, .dims = {2}};
  EXPECT_THROW(to_device<float>(*client, {1, 2, 3}, shape), BugError);
  EXPECT_THROW(to_device<std::int32_t>(*client, {1, 2}, shape), BugError);
  EXPECT_THROW(to_device<float>(*client, {1, 2}, shape, 1), BugError);
  EXPECT_THROW(to_device<float>(*client, {1, 2}, shape).to_host<std::int32_t>(), BugError);
}

}  // namespace
}  // namespace smelt::pjrt
