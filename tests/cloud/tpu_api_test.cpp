#include "cloud/tpu_api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/error.h"
#include "cloud/tpu_fault.h"
#include "cloud/tpu_test.h"
#include "io/filesystem/file.h"
#include "support/command.h"
#include "support/error_of.h"
#include "support/oracle.h"

namespace smelt::cloud {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class TpuApiTest : public TpuTest {
 protected:
  // Polls an operation until it is done.
  TpuApi::Progress finish(const std::string& operation) {
    for (;;)
      if (const auto progress = tpu_.progress(operation); progress.done) return progress;
  }
  void make(const std::string& name) {
    const auto begun = tpu_.create(kZone, name, {"v3-8", "tpu-ubuntu2204-base"});
    ASSERT_FALSE(begun.fault);
    ASSERT_FALSE(finish(begun.operation).fault);
  }
  std::string refusal_of(ServedAnswer answer) {
    fake_.faults = {answer};
    return error_of([&] { tpu_.nodes(kZone); });
  }
};

TEST_F(TpuApiTest, CreatesFindsAndDeletesANode) {
  NodeSpec spec{"v3-8", "tpu-ubuntu2204-base", true};
  spec.labels = {{"run", "1"}};
  const auto begun = tpu_.create(kZone, "bert-1", spec);
  EXPECT_EQ(tpu_.node(kZone, "bert-1")->state, "CREATING");
  EXPECT_FALSE(tpu_.progress(begun.operation).done);
  EXPECT_TRUE(tpu_.progress(begun.operation).done);
  EXPECT_TRUE(tpu_.progress(begun.operation + "0").done);  // unknown: the API has forgotten it
  const TpuNode node = *tpu_.node(kZone, "bert-1");
  EXPECT_EQ(node.name, "bert-1");
  EXPECT_EQ(node.zone, kZone);
  EXPECT_EQ(node.accelerator_type, "v3-8");
  EXPECT_EQ(node.runtime_version, "tpu-ubuntu2204-base");
  EXPECT_EQ(node.state, "READY");
  EXPECT_TRUE(node.is_spot);
  EXPECT_THAT(node.addresses, ElementsAre("10.0.0.2"));
  EXPECT_THAT(node.external_addresses, ElementsAre("1.2.3.4"));
  EXPECT_EQ(node.labels.at("run"), "1");
  finish(*tpu_.remove(kZone, "bert-1"));
  EXPECT_FALSE(tpu_.node(kZone, "bert-1"));
  EXPECT_FALSE(tpu_.remove(kZone, "bert-1"));
}

TEST_F(TpuApiTest, ReadsAllPagesAndReportsUnreachableZones) {
  for (const char* name : {"a", "b", "c", "d", "e"}) make(name);
  EXPECT_EQ(tpu_.nodes(kZone).items.size(), 5u);
  fake_.zones["europe-west4-a"].answers = false;
  const auto all = tpu_.nodes(kAllZones);
  EXPECT_EQ(all.items.size(), 5u);
  EXPECT_THAT(all.unreachable, testing::Contains("europe-west4-a"));
  EXPECT_THAT(tpu_.zones(), ElementsAre("europe-west4-a", "us-central1-a", "us-central1-b"));
  EXPECT_THAT(tpu_.accelerator_types(kZone), ElementsAre("v2-8", "v3-8"));
  EXPECT_THAT(tpu_.runtime_versions(kZone), ElementsAre("tpu-ubuntu2204-base", "tpu-vm-base"));
}

// Google's reference does not say that "-" stands for all zones.
TEST_F(TpuApiTest, ListsEachZoneIfTheApiCannotListAll) {
  make("a");
  tpu_.enqueue("us-central1-b", "q", {"v3-8", "x"}, {});
  fake_.lists_all_zones = false;
  EXPECT_EQ(tpu_.nodes(kAllZones).items.size(), 1u);
  EXPECT_EQ(tpu_.queued(kAllZones).items.at(0).zone, "us-central1-b");
  fake_.zones["europe-west4-a"].answers = false;
  EXPECT_THAT(tpu_.nodes(kAllZones).unreachable, ElementsAre("europe-west4-a"));
  EXPECT_EQ(tpu_.nodes(kAllZones).items.size(), 1u);
}

TEST_F(TpuApiTest, RejectsAnEndlessList) {
  fake_.faults.assign(1000, {200, R"({"nodes": [], "nextPageToken": "again"})"});
  EXPECT_THAT(error_of<SystemError>([&] { tpu_.nodes(kZone); }),
              HasSubstr("the server's list has too many pages"));
}

TEST_F(TpuApiTest, ToleratesUnknownFields) {
  const TpuNode node = parse_node(Json::parse(R"({"name": "projects/p/locations/z/nodes/n",
      "state": "DREAMING", "health": 7, "labels": {"a": 1, "b": "c"}, "networkEndpoints": [{}, 3],
      "schedulingConfig": [], "newField": {}})"));
  EXPECT_EQ(node.state, "DREAMING");
  EXPECT_FALSE(node.is_lost());
  EXPECT_EQ(node.health, "");
  EXPECT_EQ(node.labels.size(), 1u);
  EXPECT_THAT(node.addresses, ElementsAre("", ""));
  EXPECT_EQ(parse_node(Json()).name, "");
}

TEST_F(TpuApiTest, DistinguishesCapacityAndQuota) {
  fake_.zones[kZone].capacity = 1;
  make("a");
  const auto begun = tpu_.create(kZone, "b", {"v3-8", "x"});
  EXPECT_EQ(kind_of(*finish(begun.operation).fault), TpuFault::capacity);
  fake_.preempt("a");
  EXPECT_TRUE(tpu_.node(kZone, "a")->is_lost());
  fake_.quota = 1;  // the lost node uses it up
  EXPECT_EQ(kind_of(*tpu_.create(kZone, "b", {"v3-8", "x"}).fault), TpuFault::quota);
  EXPECT_EQ(kind_of(*tpu_.create(kZone, "a", {"v3-8", "x"}).fault), TpuFault::exists);
  EXPECT_EQ(kind_of(*tpu_.create("us-central1-b", "b", {"v9-8", "x"}).fault), TpuFault::not_found);
  EXPECT_EQ(kind_of({.status = 429,
                     .code = "RESOURCE_EXHAUSTED",
                     .reason = "RATE_LIMIT_EXCEEDED",
                     .message = "Quota exceeded for quota metric 'Requests' per minute"}),
            TpuFault::rate);
}

TEST_F(TpuApiTest, SendsACreationRequestOnce) {
  fake_.faults = {{.status = 503}};
  EXPECT_EQ(tpu_.create(kZone, "a", {"v3-8", "x"}).fault->status, 503);
  EXPECT_FALSE(tpu_.node(kZone, "a"));
  fake_.faults = {{.status = 429}};  // the quota is used up
  EXPECT_EQ(tpu_.create(kZone, "a", {"v3-8", "x"}).fault->status, 429);
  EXPECT_FALSE(tpu_.node(kZone, "a"));
  fake_.faults = {{.hangs_up = true}};
  EXPECT_THROW(tpu_.create(kZone, "a", {"v3-8", "x"}), SystemError);
  EXPECT_FALSE(tpu_.node(kZone, "a"));
  fake_.faults = {{.status = 503}, {.hangs_up = true}, {.status = 429}};
  EXPECT_EQ(tpu_.nodes(kZone).items.size(), 0u);  // reads are repeated
}

TEST_F(TpuApiTest, ClassifiesFailedOperationsAsTemporaryOrPermanent) {
  for (const auto& [code, kind] : {std::pair{1, TpuFault::passing},
                                   {2, TpuFault::passing},
                                   {9, TpuFault::other},
                                   {14, TpuFault::passing},
                                   {3, TpuFault::other}}) {
    fake_.operation_errors.push_back(Json{{"code", code}, {"message", "why"}});
    const auto begun = tpu_.create(kZone, "a", {"v3-8", "x"});
    EXPECT_EQ(kind_of(*finish(begun.operation).fault), kind) << code;
  }
  EXPECT_EQ(
      kind_of(
          {.status = 0, .code = "FAILED_PRECONDITION", .reason = "", .message = "a was preempted"}),
      TpuFault::passing);
}

TEST_F(TpuApiTest, ErrorsHaveHints) {
  EXPECT_THAT(
      refusal_of({403, R"({"error": {"status": "PERMISSION_DENIED", "message": "not used before",
          "details": [{"@type": "type.googleapis.com/google.rpc.ErrorInfo",
                       "reason": "SERVICE_DISABLED"}]}})"}),
      AllOf(HasSubstr("cloud: the nodes of project p: not used before"),
            HasSubstr("hint: gcloud services enable tpu.googleapis.com --project=p")));
  EXPECT_THAT(refusal_of({403, R"({"error": {"status": "PERMISSION_DENIED", "message": "no"}})"}),
              HasSubstr("hint: gcloud projects add-iam-policy-binding p --member=WHO"));
  EXPECT_THAT(error_of<UsageError>([&] { tpu_.nodes("us-centra1-a"); }),
              AllOf(HasSubstr("Location us-centra1-a is not found"),
                    HasSubstr("hint: list zones with smelt cloud locations")));
  for (const char* name : {"", "a_b", "A", "1a", "a-", "a.b"})
    EXPECT_THAT(error_of<UsageError>([&] { require_name(name); }),
                HasSubstr(str("the name '", name, "' is not allowed")));
  EXPECT_THROW(require_name(std::string(64, 'a')), UsageError);
  EXPECT_NO_THROW(require_name(std::string(63, 'a')));
}

TEST(Zones, SplitRemovesDuplicates) {
  EXPECT_THAT(split_zones("b, a,b,,a"), ElementsAre("b", "a", ""));
}

TEST_F(TpuApiTest, CommandsListResources) {
  make("bert-1");
  make("bert-2");
  fake_.preempt("bert-2");
  fake_.zones["europe-west4-a"].answers = false;
  EXPECT_EQ(run_smelt("cloud list --project p").text,
            "name    zone           type  state      since\n"
            "bert-1  us-central1-a  v3-8  READY      2026-11-23 17:40Z\n"
            "bert-2  us-central1-a  v3-8  PREEMPTED  2026-11-23 17:40Z\n"
            "note: bert-2 is lost and uses quota until it is deleted\n"
            "note: no answer from europe-west4-a: the list may be incomplete\n");
  const Json said = Json::parse(run_smelt("cloud list --project p --json").text);
  EXPECT_EQ(said["nodes"][1]["state"], "PREEMPTED");
  EXPECT_EQ(said["unreachable"], Json({"europe-west4-a"}));
  EXPECT_EQ(run_smelt("cloud locations --project p").text,
            "europe-west4-a\nus-central1-a\nus-central1-b\n");
  EXPECT_EQ(run_smelt("cloud types --project p --zone us-central1-a").text, "v2-8\nv3-8\n");
  EXPECT_EQ(run_smelt("cloud types --project p --zone us-central1-a --json").text,
            R"({"types":["v2-8","v3-8"],"runtime_versions":["tpu-ubuntu2204-base","tpu-vm-base"]})"
            "\n");
}

TEST_F(TpuApiTest, GooglesClientWorksWithTheFake) {
  const char* newest = std::getenv("SMELT_NEWEST_PYTHON");  // set by scripts/test --newest
  if (newest == nullptr) {
    REQUIRE_ORACLE();
  }
  NodeSpec spec{"v3-8", "tpu-ubuntu2204-base", true, "default", "sub", false, "x@y"};
  spec.labels = spec.metadata = {{"a", "b"}};
  const QueueSpec queue{"held", std::chrono::hours(6)};
  const Json bodies{{"node", node_body(spec)},
                    {"queued", queued_body("p", kZone, "q", spec, queue)},
                    {"metadata", {{"metadata", {{"ssh-keys", "me:ssh-ed25519 AAAA me"}}}}}};
  io::write_file(home_.dir.file("node.json"), bodies.dump());
  fake_.host_keys = {{{"ssh-ed25519", "AAAA1"}}, {{"ssh-ed25519", "AAAA2"}}};
  const CommandOutput said = run_command(str(newest ? newest : oracle_python(), " ",
                                             source_path("tests/cloud/drive_fake_tpu.py"), " ",
                                             server_.host(), " < ", home_.dir.file("node.json")));
  EXPECT_EQ(said.text, "as Google's client expects\n");
}

}  // namespace
}  // namespace smelt::cloud
