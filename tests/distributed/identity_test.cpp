// How a process finds its rank: by flags, environment variables and metadata.
#include "distributed/identity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "base/error.h"
#include "support/error_of.h"

namespace smelt::distributed {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

using Variables = std::map<std::string, std::string>;

ProcessEnvironment around(const Variables& variables, const Variables& metadata = {}) {
  return {.environment =
              [variables](const std::string& name) {
                const auto found = variables.find(name);
                return found == variables.end() ? "" : found->second;
              },
          .metadata = [metadata](const std::string& name) -> std::optional<std::string> {
            const auto found = metadata.find(name);
            if (found == metadata.end()) return std::nullopt;
            return found->second;
          },
          .has_tpu = true,
          .has_devices = true};
}

std::string told(const Variables& variables, const Variables& metadata = {},
                 const PodSettings& words = {}) {
  return identity_text(identity_of(identity_sources(words, around(variables, metadata))));
}

std::string refusal(const Variables& variables, const Variables& metadata = {},
                    const PodSettings& words = {}) {
  return error_of([&] { told(variables, metadata, words); });
}

constexpr const char* kHint =
    "\n  hint: set --processes, --process and --hub, or --processes 1 for a single process";

TEST(PodIdentity, DefaultsToASingleProcess) {
  EXPECT_EQ(told({}), "one process alone");
  EXPECT_EQ(told({{"MASTER_ADDR", "a"}, {"SLURM_JOB_ID", "7"}, {"SLURM_NTASKS", "4"}}),
            "one process alone")
      << "in a batch script, before srun";
}

TEST(PodIdentity, FlagsOverrideAllOtherSources) {
  const PodSettings words{.processes = 4, .process = 3, .hub = "n0"};
  const std::string want = "process 3 of 4, rank 0 at n0:8487, from the flags";
  EXPECT_EQ(told({}, {}, words), want);
  EXPECT_EQ(told({{"RANK", "1"}}, {}, words), want) << "half of another is not looked at";
  EXPECT_EQ(told({{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "b"}}, {},
                 {.processes = 1, .process = {}, .hub = {}}),
            "one process alone");
}

TEST(PodIdentity, ReadsTheTpuVariablesOfGke) {
  EXPECT_EQ(told({{"TPU_WORKER_ID", "1"}, {"TPU_WORKER_HOSTNAMES", "t-0.svc,t-1.svc"}}),
            "process 1 of 2, rank 0 at t-0.svc:8487, from the TPU's variables");
  EXPECT_EQ(
      told({{"CLOUD_TPU_TASK_ID", "0"}, {"TPU_PROCESS_ADDRESSES", "10.0.0.1:8471,10.0.0.2:8471"}}),
      "process 0 of 2, rank 0 at 10.0.0.1:8487, from the TPU's variables");
  EXPECT_EQ(told({{"TPU_WORKER_HOSTNAMES", "localhost"}}), "one process alone");
}

TEST(PodIdentity, NumbersProcessesAcrossSlices) {
  const Variables slices{{"TPU_WORKER_ID", "1"},
                         {"TPU_WORKER_HOSTNAMES", "b0,b1"},
                         {"MEGASCALE_NUM_SLICES", "2"},
                         {"MEGASCALE_SLICE_ID", "1"},
                         {"MEGASCALE_COORDINATOR_ADDRESS", "a0:8080"}};
  EXPECT_EQ(told(slices),
            "process 3 of 4, slice 1 of 2, rank 0 at a0:8487, from the TPU's variables");
  Variables half = slices;
  half.erase("MEGASCALE_COORDINATOR_ADDRESS");
  EXPECT_THAT(refusal(half), HasSubstr("but MEGASCALE_COORDINATOR_ADDRESS is not set"));
  Variables beyond = slices;
  beyond["MEGASCALE_SLICE_ID"] = "2";
  EXPECT_THAT(refusal(beyond),
              StartsWith("pod: MEGASCALE_SLICE_ID is 2, must be less than MEGASCALE_NUM_SLICES, 2\n"
                         "  hint: number"));
}

TEST(PodIdentity, ReadsTpuVmMetadata) {
  const Variables metadata{
      {"agent-worker-number", "2"},
      {"worker-network-endpoints", "unknown:unknown:10.0.0.7,w-1:1:10.0.0.8,x:y:10.0.0.9"}};
  EXPECT_EQ(told({}, metadata), "process 2 of 3, rank 0 at 10.0.0.7:8487, from the TPU's metadata");
  EXPECT_EQ(told({{"TPU_SKIP_MDS_QUERY", "1"}}, metadata), "one process alone");
  Variables slices = metadata;
  slices["tpu-env"] =
      "ZONE: 'z'\nMEGASCALE_NUM_SLICES: '2'\nMEGASCALE_SLICE_ID: '0'\n"
      "MEGASCALE_COORDINATOR_ADDRESS: '10.0.0.7:8080'\n";
  EXPECT_EQ(told({}, slices),
            "process 2 of 6, slice 0 of 2, rank 0 at 10.0.0.7:8487, from the TPU's metadata");
}

TEST(PodIdentity, ReadsVariablesOfSlurmAndLaunchers) {
  const auto sources = identity_sources({}, around({{"SLURM_STEP_NODELIST", "n[017-019,30],login"},
                                                    {"SLURM_NTASKS", "4"},
                                                    {"SLURM_PROCID", "2"},
                                                    {"SLURM_JOB_ID", "12345678"},
                                                    {"SLURM_STEP_ID", "0"},
                                                    {"SLURM_RESTART_COUNT", "1"}}));
  EXPECT_EQ(first_node("rack[1-2]n[03-04,7],login"), "rack1n03");
  const PodIdentity slurm = identity_of(sources);
  EXPECT_EQ(identity_text(slurm), "process 2 of 4, rank 0 at n017:61774, from SLURM's variables");
  EXPECT_EQ(slurm.place.incarnation, "12345678.0.1");
  EXPECT_EQ(
      told({{"MASTER_ADDR", "m"}, {"MASTER_PORT", "29500"}, {"RANK", "0"}, {"WORLD_SIZE", "2"}}),
      "process 0 of 2, rank 0 at m:8487, from a launcher's variables");
  EXPECT_EQ(first_node("node7"), "node7");
  EXPECT_EQ(first_node("a1,b[2-3]"), "a1");
  EXPECT_EQ(first_node("rack[1-2]-n,c"), "rack1-n");
}

TEST(PodIdentity, RejectsIncompleteSettings) {
  EXPECT_EQ(refusal({}, {}, {.processes = 4, .process = {}, .hub = {}}),
            str("pod: --processes is 4, but --process and --hub are not set", kHint));
  EXPECT_EQ(refusal({{"TPU_WORKER_ID", "1"}}),
            str("pod: TPU_WORKER_ID is 1, but TPU_WORKER_HOSTNAMES is not set", kHint));
  EXPECT_EQ(refusal({{"RANK", "1"}, {"WORLD_SIZE", "2"}}),
            str("pod: WORLD_SIZE is 2, RANK is 1, but MASTER_ADDR is not set", kHint));
  EXPECT_EQ(refusal({{"RANK", "first"}}),
            str("pod: RANK is 'first', expected a whole number", kHint));
}

TEST(PodIdentity, RejectsInvalidRanksAndAddresses) {
  EXPECT_EQ(refusal({}, {}, {.processes = 2, .process = 2, .hub = "h"}),
            "pod: the flags give process 2 of 2, but the first is process 0\n  hint: number the "
            "processes from 0");
  EXPECT_THAT(refusal({}, {}, {.processes = 2, .process = 1, .hub = "h:x"}),
              StartsWith("--hub: 'h:x' is not HOST:PORT"));
}

TEST(PodIdentity, RejectsSourcesThatDisagree) {
  const Variables both{{"TPU_WORKER_ID", "1"},
                       {"TPU_WORKER_HOSTNAMES", "a,b"},
                       {"RANK", "0"},
                       {"WORLD_SIZE", "4"},
                       {"MASTER_ADDR", "a"}};
  EXPECT_EQ(refusal(both), str("pod: the TPU's variables give process 1 of 2, but a launcher's "
                               "variables give process 0 of 4",
                               kHint));
  EXPECT_EQ(refusal({{"TPU_WORKER_ID", "1"}, {"TPU_WORKER_HOSTNAMES", "a,b"}}, {},
                    {.processes = 4, .process = 1, .hub = "h"}),
            str("pod: the flags give process 1 of 4, but the TPU's variables give process 1 of 2",
                kHint));
}

TEST(PodIdentity, IgnoresTpuVariablesWithoutATpu) {
  ProcessEnvironment cpu = around({{"TPU_WORKER_ID", "1"},
                                   {"TPU_WORKER_HOSTNAMES", "a,b"},
                                   {"RANK", "0"},
                                   {"WORLD_SIZE", "4"},
                                   {"MASTER_ADDR", "a"}});
  cpu.has_tpu = cpu.has_devices = false;
  EXPECT_FALSE(identity_of(identity_sources({}, cpu)).several());
  cpu.has_devices = true;
  EXPECT_EQ(identity_of(identity_sources({}, cpu)).place.size, 4);
}

TEST(PodIdentity, EachSourceListsFoundAndMissingSettings) {
  const auto sources = identity_sources({}, around({{"TPU_WORKER_ID", "1"}}));
  ASSERT_EQ(sources.size(), 4u);
  EXPECT_THAT(sources[0].missing, ElementsAre("--processes", "--process", "--hub"));
  EXPECT_THAT(sources[1].found, ElementsAre(std::pair("TPU_WORKER_ID", "1")));
  EXPECT_THAT(sources[1].missing, ElementsAre("TPU_WORKER_HOSTNAMES"));
  EXPECT_THAT(sources[3].found, IsEmpty());
}

}  // namespace
}  // namespace smelt::distributed
