// smelt pod describe, and commands with incomplete settings of their pod.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "base/str.h"
#include "cli/options/pod_flags.h"
#include "support/command.h"
#include "support/environment.h"
#include "support/http_server.h"
#include "support/paths.h"

namespace smelt::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class PodDescribe : public testing::Test {
 protected:
  // A fake of a TPU VM's metadata server.
  HttpServer metadata_{[](const ServedRequest& asked) -> ServedAnswer {
    if (asked.headers.at("metadata-flavor") != "Google") return {.status = 403};
    if (asked.target == "/computeMetadata/v1/instance/attributes/agent-worker-number")
      return {.body = "1\n"};
    if (asked.target == "/computeMetadata/v1/instance/attributes/worker-network-endpoints")
      return {.body = "a:1:10.0.0.5,b:2:10.0.0.6"};
    return {.status = 404};
  }};
  const ScopedVariable root_{"GCE_METADATA_ROOT", metadata_.host()};
  const ScopedVariable id_{"TPU_WORKER_ID"}, hosts_{"TPU_WORKER_HOSTNAMES"},
      skip_{"TPU_SKIP_MDS_QUERY"}, rank_{"RANK"}, size_{"WORLD_SIZE"}, step_{"SLURM_STEP_NODELIST"};
};

TEST_F(PodDescribe, ReportsProcessCountAndTheirSource) {
  const CommandOutput out = run_smelt("pod describe --device tpu");
  EXPECT_EQ(out.status, 0);
  EXPECT_THAT(
      out.text,
      AllOf(HasSubstr("the flags: nothing (--processes, --process, --hub)\n"),
            HasSubstr("the TPU's variables: nothing (TPU_WORKER_HOSTNAMES, TPU_WORKER_ID)\n"),
            HasSubstr("agent-worker-number 1: process 1 of 2\n"),
            HasSubstr("result: process 1 of 2, rank 0 at 10.0.0.5:8487, from the TPU's "
                      "metadata\n")));
  const Json told = Json::parse(run_smelt("pod describe --device tpu --json").text);
  EXPECT_EQ(told["process"], 1);
  EXPECT_EQ(told["processes"], 2);
  EXPECT_EQ(told["hub"], "10.0.0.5:8487");
  EXPECT_EQ(told["source"], "the TPU's metadata");
  EXPECT_EQ(told["sources"][2]["found"]["worker-network-endpoints"], "a:1:10.0.0.5,b:2:10.0.0.6");
}

TEST_F(PodDescribe, UsesOnlyTheFlagsOnACpu) {
  EXPECT_EQ(run_smelt("pod describe --device cpu").text,
            "the flags: nothing (--processes, --process, --hub)\nresult: one process alone\n"
            "(with --device tpu or --device gpu, more sources are checked)\n");
  EXPECT_TRUE(metadata_.requests().empty());
}

TEST_F(PodDescribe, ReportsMissingVariables) {
  const ScopedVariable id("TPU_WORKER_ID", "3");
  const CommandOutput out = run_smelt("pod describe --device tpu");
  EXPECT_EQ(out.status, 2);
  EXPECT_THAT(out.text, testing::Not(HasSubstr("result: ")));
  EXPECT_THAT(out.text,
              AllOf(HasSubstr("TPU_WORKER_ID 3; missing: TPU_WORKER_HOSTNAMES\n"),
                    HasSubstr("error: pod: TPU_WORKER_ID is 3, but "
                              "TPU_WORKER_HOSTNAMES is not set\n  hint: set --processes")));
  EXPECT_THAT(Json::parse(run_smelt("pod describe --device tpu --json").text)["error"],
              HasSubstr("TPU_WORKER_HOSTNAMES is not set"));
}

TEST_F(PodDescribe, CommandsRejectIncompletePodFlags) {
  const TempDir dir;
  for (const std::string& command :
       {str("run ", source_path("recipes/demo.yaml"), " --set out=", dir.file("out")),
        std::string("run_pretraining --bert_config_file a --input_file b --output_dir c"),
        std::string("electra run_pretraining --data-dir a --model-name b"),
        std::string("jestimator --module_imp=jestimator.models.bert.pretrain")})
    expect_refusal(command + " --process 1",
                   HasSubstr("error: pod: --process is 1, but --processes and --hub are not set"));
}

TEST_F(PodDescribe, RejectsATimeoutThatIsNotANumber) {
  const ScopedVariable silence("SMELT_POD_SILENCE", "soon");
  expect_refusal(
      "jestimator --module_imp=jestimator.models.bert.pretrain --device cpu --processes 2 "
      "--process 0 --hub 127.0.0.1:0",
      HasSubstr("SMELT_POD_SILENCE: 'soon' is not a number of seconds from 0.1 to 1000000\n"
                "  hint: unset SMELT_POD_SILENCE"));
}

// A restarted process retries to join until the hub has noticed that its predecessor is dead, and
// then waits until all processes of the next run have joined.
TEST(PodTimes, ConnectTimeoutGrowsWithTheSilenceTimeout) {
  const auto times = [](const std::string& silence, const std::string& connect) {
    return pod_times_of([=](const std::string& name) {
      return name == "SMELT_POD_SILENCE" ? silence : name == "SMELT_POD_CONNECT" ? connect : "";
    });
  };
  for (const char* silence : {"", "4", "100", "1000"}) {
    const distributed::PodTimes got = times(silence, "");
    EXPECT_GT(got.taken, got.silence + got.beat + got.notify) << silence;
    EXPECT_GE(got.connect,
              got.taken + distributed::PodTimes().connect - distributed::PodTimes().taken)
        << silence;
  }
  EXPECT_EQ(times("1000", "50").connect, std::chrono::seconds(50));
}

}  // namespace
}  // namespace smelt::cli
