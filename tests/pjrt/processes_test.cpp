// One client for the devices of several processes, and their key-value store, with a plugin without
// XLA.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "base/error.h"
#include "pjrt/executable.h"
#include "pjrt/fake_plugin.h"
#include "support/environment.h"
#include "support/error_of.h"

namespace smelt::pjrt {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const compiler::Shape kOne{.dtype = compiler::DType::f32, .dims = {1}};

// This is the last of two processes with two devices each. Device ids alternate between processes.
class TwoProcesses : public testing::Test {
 protected:
  TwoProcesses() : plugin_(Plugin::load(SMELT_FAKE_PLUGIN)) {
    control().reset();
    control().processes = 2;
    client_ = made();
  }

  static FakeControl& control() {
    void* library = ::dlopen(SMELT_FAKE_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    CHECK(library != nullptr);
    return *reinterpret_cast<FakeControlFunction>(::dlsym(library, "fake_control"))();
  }
  std::shared_ptr<const Client> made() const {
    return Client::create(plugin_, {{"cpu_device_count", std::int64_t{2}}});
  }
  static CompileOptions over(int devices) {
    CompileOptions options;
    options.num_replicas = devices;
    return options;
  }

  std::shared_ptr<const Plugin> plugin_;
  std::shared_ptr<const Client> client_;
};

TEST_F(TwoProcesses, NumbersDevicesByProcessThenById) {
  EXPECT_EQ(client_->device_count(), 4);
  EXPECT_EQ(client_->process_count(), 2);
  EXPECT_EQ(client_->process_index(), 1);
  std::vector<int> ids, processes;
  for (int device = 0; device < 4; ++device) {
    ids.push_back(client_->id_of(device));
    processes.push_back(client_->process_of(device));
  }
  EXPECT_THAT(ids, ElementsAre(0, 2, 1, 3));
  EXPECT_THAT(processes, ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(client_->own_devices(), ElementsAre(2, 3));
}

TEST_F(TwoProcesses, ListsOwnDevicesOfProgramsOnAllAndOnOneDevice) {
  const auto of = [&](std::int64_t devices) {
    std::vector<std::pair<int, int>> out;
    for (const OwnDevice& own : client_->own_devices(devices))
      out.emplace_back(own.place, own.device);
    return out;
  };
  EXPECT_THAT(of(4), ElementsAre(std::pair(2, 2), std::pair(3, 3)));
  EXPECT_THAT(of(1), ElementsAre(std::pair(0, 2)));
}

TEST_F(TwoProcesses, RejectsADeviceOfAnotherProcess) {
  EXPECT_THAT(error_of<BugError>([&] { to_device<float>(*client_, {1}, kOne, 1); }),
              HasSubstr("device 1 belongs to process 0, this is process 1"));
}

TEST_F(TwoProcesses, DeviceAssignmentListsIdsInDeviceOrder) {
  client_->compile("module {}", over(4));
  CompileOptions wanted = over(4);
  wanted.device_ids = {0, 2, 1, 3};
  EXPECT_EQ(control().compile_options, serialize(wanted));
  EXPECT_NE(control().compile_options, serialize(over(4)));
  client_->compile("module {}");
  wanted = over(1);
  wanted.device_ids = {1};
  EXPECT_EQ(control().compile_options, serialize(wanted));
}

TEST(OneProcess, CompileOptionsHaveNoDeviceIds) {
  for (const int devices : {1, 2, 8}) {
    CompileOptions plain, named;
    plain.num_partitions = named.num_partitions = devices;
    for (int id = 0; id < devices; ++id) named.device_ids.push_back(id);
    EXPECT_EQ(serialize(named), serialize(plain));
  }
}

// The fake plugin aborts if a list is not for its device.
TEST_F(TwoProcesses, SendsArgumentListsToTheirDevices) {
  const Executable program = client_->compile("module {}", over(4));
  EXPECT_THAT(program.devices(), ElementsAre(2, 3));
  const Buffer first = to_device<float>(*client_, {1}, kOne, 2);
  const Buffer second = to_device<float>(*client_, {2}, kOne, 3);
  const Execution run = program.execute({{&first, &first}, {&second, &second}});
  EXPECT_THAT(run.results[0][0].to_host<float>(), ElementsAre(1));
  EXPECT_THAT(run.results[1][0].to_host<float>(), ElementsAre(2));
}

TEST_F(TwoProcesses, LaunchIdsDependOnlyOnTheProgramAndAreNeverZero) {
  const auto launches_of = [&](const Client& client, const std::string& text) {
    control().launches.clear();
    const Executable program = client.compile(text, over(4));
    const Buffer first = to_device<float>(client, {1}, kOne, 2);
    const Buffer second = to_device<float>(client, {2}, kOne, 3);
    for (int i = 0; i < 3; ++i) program.execute({{&first, &first}, {&second, &second}});
    return control().launches;
  };
  const std::vector<int> here = launches_of(*client_, "module {}");
  EXPECT_EQ(launches_of(*made(), "module {}"), here);
  EXPECT_EQ(here[1], here[0] + 1);
  EXPECT_EQ(here[2], here[0] + 2);
  EXPECT_NE(launches_of(*client_, "module { }")[0], here[0]);

  control().launches.clear();
  const Executable about_to_wrap = client_->load("program", 0xffffffffu);
  const Buffer first = to_device<float>(*client_, {1}, kOne, 2);
  const Buffer second = to_device<float>(*client_, {2}, kOne, 3);
  for (int i = 0; i < 3; ++i) about_to_wrap.execute({{&first, &first}, {&second, &second}});
  EXPECT_THAT(control().launches, ElementsAre(-1, 1, 2));
}

TEST_F(TwoProcesses, ProcessHasOneClientAndRejectsASubsetOfDevices) {
  const ScopedVariable variable("SMELT_CPU_PLUGIN", SMELT_FAKE_PLUGIN);
  const ClientCache kept;
  control().processes = 4;  // one device each, so the requested number can be reached
  const auto client = open_device("cpu", 1);
  EXPECT_EQ(client->device_count(), 4);
  EXPECT_EQ(open_device("cpu", 4), client);
  EXPECT_EQ(open_device("cpu", 1), client);
  EXPECT_THAT(
      error_of<UsageError>([] { open_device("cpu", 2); }),
      HasSubstr("device cpu: 2 devices requested, but a run over 4 processes must use all 4\n"
                "  hint: request 4 devices"));
}

TEST_F(TwoProcesses, PluginUsesTheKeyValueStore) {
  std::map<std::string, std::string> held;
  std::vector<std::int64_t> waited;
  const auto find = [&](const std::string& key) {
    const auto found = held.find(key);
    return found == held.end() ? std::nullopt : std::optional(found->second);
  };
  const KeyValueStore store{
      .get =
          [&](const std::string& key, std::chrono::milliseconds timeout) {
            waited.push_back(timeout.count());
            return find(key);
          },
      .try_get = find,
      .put = [&](const std::string& key,
                 const std::string& value) { return held.emplace(key, value).second; }};
  (void)Client::create(plugin_, {}, std::make_shared<const KeyValueStore>(store));
  EXPECT_EQ(control().stored, "5 no value for key 'key'; 4 no value for key 'key' after 7 ms");
  EXPECT_EQ(control().stored_after, "ok; 6 key 'key' already has a value; mine; mine");
  EXPECT_THAT(waited, ElementsAre(7, 7));
}

TEST_F(TwoProcesses, ReportsAStoreThatCannotBeReached) {
  const auto fail = [] { throw SystemError("pod: the hub is gone"); };
  const KeyValueStore store{.get =
                                [&](const std::string&, std::chrono::milliseconds) {
                                  fail();
                                  return std::optional<std::string>();
                                },
                            .try_get =
                                [&](const std::string&) {
                                  fail();
                                  return std::optional<std::string>();
                                },
                            .put =
                                [&](const std::string&, const std::string&) {
                                  fail();
                                  return false;
                                }};
  (void)Client::create(plugin_, {}, std::make_shared<const KeyValueStore>(store));
  EXPECT_EQ(control().stored, "14 pod: the hub is gone; 14 pod: the hub is gone");
}

}  // namespace
}  // namespace smelt::pjrt
