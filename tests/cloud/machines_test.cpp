#include "cloud/machines.h"

#include <gmock/gmock.h>

#include <utility>

#include "base/error.h"
#include "cloud/tpu_fault.h"
#include "cloud/tpu_test.h"
#include "support/command.h"
#include "support/error_of.h"

namespace smelt::cloud {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

class MachinesTest : public TpuTest {
 protected:
  MachineRequest request(std::vector<std::string> zones = {kZone, "us-central1-b"}) {
    return {"bert", std::move(zones), {"v3-8", "tpu-ubuntu2204-base"}};
  }
  TpuNode up() { return bring_up(tpu_, "p", request(), patience_); }
  std::size_t nodes() { return tpu_.nodes(kAllZones).items.size(); }

  std::vector<std::string> told_;
  Patience patience_{[](std::chrono::milliseconds) {},
                     [this](const std::string& line) { told_.push_back(line); }};
};

TEST_F(MachinesTest, UsesTheFirstZoneWithCapacity) {
  fake_.zones[kZone].capacity = 0;
  const TpuNode node = up();
  EXPECT_EQ(node.zone, "us-central1-b");
  EXPECT_EQ(node.state, "READY");
  EXPECT_THAT(told_,
              ElementsAre("us-central1-a: bert is being created", "us-central1-a: no capacity",
                          "us-central1-b: bert is being created"));
  EXPECT_EQ(nodes(), 1u);
  EXPECT_TRUE(take_down(tpu_, "p", node.zone, "bert", patience_));
  EXPECT_FALSE(take_down(tpu_, "p", node.zone, "bert", patience_));
  EXPECT_EQ(nodes(), 0u);
}

TEST_F(MachinesTest, ReportsEachZoneIfNoneHasCapacity) {
  fake_.zones[kZone].capacity = 0;
  fake_.quota = 0;
  fake_.zones["us-central1-b"].capacity = 0;
  EXPECT_THAT(error_of<SystemError>([&] { up(); }),
              StartsWith("cloud: no zone has a v3-8: us-central1-a: no quota: Quota limit"));
  EXPECT_EQ(nodes(), 0u);
}

TEST_F(MachinesTest, RejectsAnExistingName) {
  up();
  EXPECT_EQ(error_of<UsageError>([&] { up(); }),
            "cloud: bert already exists in us-central1-a, READY\n  hint: choose another name, or: "
            "smelt cloud down bert --zone us-central1-a");
  fake_.preempt("bert");
  EXPECT_THAT(error_of<UsageError>([&] { up(); }), HasSubstr(", PREEMPTED"));
}

// The request is executed, but its response is lost.
TEST_F(MachinesTest, LooksForANodeAfterALostResponse) {
  for (const ServedAnswer& lost : {ServedAnswer{.hangs_up = true}, ServedAnswer{.status = 503}}) {
    fake_.lost_answers = {lost};
    fake_.completes_unasked = true;
    EXPECT_EQ(up().state, "READY");
    EXPECT_EQ(nodes(), 1u);
    take_down(tpu_, "p", kZone, "bert", patience_);
  }
}

TEST_F(MachinesTest, NamesANodeThatMayAppearLater) {
  for (const ServedAnswer& lost : {ServedAnswer{.hangs_up = true}, ServedAnswer{.status = 503}}) {
    fake_.lost_answers = {lost};
    fake_.obeys_lost = false;
    std::chrono::milliseconds waited{0};
    patience_.wait = [&](std::chrono::milliseconds time) { waited += time; };
    EXPECT_THAT(error_of<SystemError>([&] { up(); }),
                AllOf(StartsWith("cloud: bert in us-central1-a: no response to the request: "),
                      HasSubstr("hint: it may be coming up; show it with smelt cloud list")));
    EXPECT_GE(waited, std::chrono::seconds(30));
    EXPECT_EQ(nodes(), 0u);
  }
}

TEST_F(MachinesTest, RejectedCredentialsGiveNoHintAboutAMachineThatMayAppear) {
  const ServedAnswer refused{401, R"({"error": {"message": "expired"}})"};
  // The API accepts the credentials until the machine is requested.
  fake_.lost_answers = {refused, refused};
  fake_.obeys_lost = false;
  EXPECT_THAT(error_of<io::CredentialsRefused>([&] { up(); }),
              AllOf(HasSubstr("gcloud auth application-default login"),
                    Not(HasSubstr("may be coming up"))));
}

TEST_F(MachinesTest, ReportsATypeThatNoZoneHas) {
  fake_.zones[kZone].types = fake_.zones["us-central1-b"].types = {"v2-8"};
  EXPECT_THAT(error_of<UsageError>([&] { up(); }),
              HasSubstr("cloud: bert in us-central1-a: Accelerator type v3-8 is not found"));
  EXPECT_EQ(nodes(), 0u);
}

TEST_F(MachinesTest, SkipsAZoneWithoutTheType) {
  fake_.zones[kZone].types = {"v2-8"};
  EXPECT_EQ(up().zone, "us-central1-b");
  fake_.vanish("bert");
  fake_.zones["us-central1-b"].capacity = 0;
  EXPECT_THAT(error_of<SystemError>([&] { up(); }),
              HasSubstr("no zone has a v3-8: us-central1-a: Accelerator type v3-8 is not found in "
                        "us-central1-a; us-central1-b: no capacity"));
}

TEST_F(MachinesTest, TriesTheNextZoneAfterAnUnknownFault) {
  const Json unknown{{"code", 2}, {"message", "An unknown error happened. Please try again."}};
  const Json cancelled{{"code", 1}, {"message", "The operation was cancelled."}};
  fake_.operation_errors = {unknown};
  EXPECT_EQ(up().zone, "us-central1-b");
  fake_.vanish("bert");
  fake_.operation_errors = {cancelled, unknown};
  EXPECT_THAT(error_of<SystemError>([&] { up(); }),
              HasSubstr("cloud: bert in us-central1-a: The operation was cancelled."));
  EXPECT_EQ(nodes(), 0u);
}

// Giving up would leave a machine behind that is being created and costs money.
TEST_F(MachinesTest, WaitsForAnUnreachableServer) {
  patience_.wait = [&](std::chrono::milliseconds time) {
    fake_.seconds += std::chrono::duration<double>(time).count();
  };
  patience_.tell = [&](const std::string& line) {
    told_.push_back(line);
    if (told_.size() == 1) fake_.out_until = fake_.seconds + 180;
  };
  fake_.addresses_after = 60;
  EXPECT_EQ(up().state, "READY");
  EXPECT_THAT(told_, ElementsAre("us-central1-a: bert is being created",
                                 HasSubstr("the server does not respond; waiting for it: ")));
  fake_.polls = 3;
  const TpuNode node = *tpu_.node(kZone, "bert");
  const auto is_told_once = [&](const auto& work) {
    told_.clear();
    patience_.tell = [&](const std::string& line) { told_.push_back(line); };
    patience_.wait = [&, is_first = true](std::chrono::milliseconds time) mutable {
      if (std::exchange(is_first, false)) fake_.out_until = fake_.seconds + 180;
      fake_.seconds += std::chrono::duration<double>(time).count();
    };
    work();
    EXPECT_THAT(told_, ElementsAre(HasSubstr("the server does not respond; waiting for it: ")));
  };
  is_told_once([&] { finish_switch(tpu_, "p", node, "stop", patience_); });
  is_told_once([&] { EXPECT_TRUE(take_down(tpu_, "p", kZone, "bert", patience_)); });
}

TEST_F(MachinesTest, OtherErrorsNameTheCommandThatDeletesTheMachine) {
  const std::string deletes =
      "it may be coming up; show it with smelt cloud list, delete it with smelt cloud down bert "
      "--zone us-central1-a";
  const ServedAnswer refused{401, R"({"error": {"message": "expired"}})"},
      denied{403, R"({"error": {"status": "PERMISSION_DENIED", "message": "no"}})"};
  std::deque<ServedAnswer> faults;
  patience_.tell = [&](const std::string&) { fake_.faults = faults; };
  faults = {refused, refused};
  EXPECT_THAT(
      error_of<io::CredentialsRefused>([&] { up(); }),
      AllOf(HasSubstr("not accepted by"), HasSubstr("gcloud auth application-default login"),
            testing::EndsWith("; " + deletes)));
  fake_.vanish("bert");
  faults = {denied};
  EXPECT_THAT(error_of<UsageError>([&] { up(); }), testing::EndsWith("; " + deletes));
  fake_.vanish("bert");
  faults = {{400, R"({"error": {"status": "OUT_OF_RANGE", "message": "no"}})"}};
  EXPECT_THAT(error_of<OtherRefusal>([&] { up(); }), testing::EndsWith("hint: " + deletes));
}

TEST_F(MachinesTest, NamesTheCommandThatDeletesTheMachineOnce) {
  fake_.polls = fake_.hidden_looks = 1;
  patience_.wait = [&](std::chrono::milliseconds) { fake_.preempt("bert"); };
  EXPECT_EQ(error_of<SystemError>([&] { up(); }),
            "cloud: bert in us-central1-a: it is already PREEMPTED\n  hint: smelt cloud down bert "
            "--zone us-central1-a");
}

// A request may be repeated for minutes before it fails.
TEST_F(MachinesTest, CountsTheTimeOfRequestsThatGetNoResponse) {
  Clock::time_point now;
  int looks = 0;
  patience_.now = [&] { return now; };
  const auto ended = [&] {
    now += std::chrono::minutes(10);
    return ++looks == 100;
  };
  EXPECT_FALSE(poll_until(patience_, ended));
  EXPECT_EQ(looks, 3);
}

TEST_F(MachinesTest, WaitsForANewNodeToAppear) {
  fake_.hidden_looks = 3;
  fake_.polls = 1;
  EXPECT_EQ(up().state, "READY");
}

TEST_F(MachinesTest, DeletesTheQueuedResourceOfANodeWithAnotherName) {
  tpu_.enqueue(kZone, "request", request().spec, {});
  for (int look = 0; look < 3; ++look) tpu_.queued_one(kZone, "request");
  ASSERT_EQ(fake_.states().size(), 1u);
  fake_.rename_node("request", "bert");
  EXPECT_TRUE(take_down(tpu_, "p", kZone, "bert", patience_));
  EXPECT_EQ(fake_.queue_length(), 0u);
  EXPECT_EQ(nodes(), 0u);
}

TEST_F(MachinesTest, TimeoutNamesTheCommandThatDeletesTheNode) {
  fake_.polls = 1'000'000;
  EXPECT_EQ(
      error_of<SystemError>([&] { up(); }),
      "cloud: bert in us-central1-a: not READY after 30 minutes\n  hint: it may be coming up; show "
      "it with smelt cloud list, delete it with smelt cloud down bert --zone us-central1-a");
  patience_.wait = [](std::chrono::milliseconds) { throw Stopped("x"); };
  fake_.polls = 3;
  EXPECT_THAT(error_of<Stopped>(
                  [&] { bring_up(tpu_, "p", {"other", {kZone}, request().spec}, patience_); }),
              HasSubstr("smelt cloud down other --zone us-central1-a"));
}

TEST_F(MachinesTest, CommandsCreateAndDelete) {
  fake_.polls = 1;
  const std::string up = "cloud up bert --project p --type v3-8 --zone us-central1-a --spot ";
  EXPECT_THAT(
      run_smelt(up + "--dry-run").text,
      AllOf(StartsWith("bert: v3-8, spot, tpu-ubuntu2204-base, project p\n  us-central1-a: "),
            HasSubstr(R"("schedulingConfig":{"spot":true})")));
  EXPECT_THAT(run_smelt(up + "< /dev/null").text,
              HasSubstr("nothing was created; --yes creates it\n"));
  // A zone that is named twice is used once.
  const std::string twice =
      run_smelt(
          "cloud up bert --project p --type v3-8 --zone us-central1-a,us-central1-a --dry-run")
          .text;
  EXPECT_EQ(twice.find("us-central1-a: $"), twice.rfind("us-central1-a: $")) << twice;
  EXPECT_EQ(nodes(), 0u);
  EXPECT_THAT(
      run_smelt(up + "--yes --label run=1").text,
      HasSubstr("us-central1-a: bert is READY\n  worker 0: 10.0.0.2 1.2.3.4\nwhen done: smelt "
                "cloud down bert --zone us-central1-a\n"));
  EXPECT_EQ(tpu_.node(kZone, "bert")->labels.at("run"), "1");
  const std::string down = "cloud down bert --project p --zone us-central1-a ";
  EXPECT_EQ(run_smelt(down + "< /dev/null").text,
            "bert: v3-8 in us-central1-a, READY\nnothing was deleted; --yes deletes it\n");
  EXPECT_EQ(run_smelt(down + "< /dev/null").status, 1);
  expect_refusal("cloud down bert --project p --zone us-central1-b --yes",
                 HasSubstr("no machine bert in us-central1-b; it is in us-central1-a"));
  EXPECT_EQ(run_smelt(down + "--yes").text, "bert: v3-8 in us-central1-a, READY\ndeleted\n");
  const CommandOutput gone = run_smelt(down + "--yes");
  EXPECT_EQ(gone.text, "no machine bert in us-central1-a or any other zone\n");
  EXPECT_EQ(gone.status, 0);
  fake_.zones["europe-west4-a"].answers = false;
  const CommandOutput unknown = run_smelt(down + "--yes");
  EXPECT_EQ(unknown.status, 1);
  EXPECT_THAT(unknown.text, HasSubstr("no machine bert in us-central1-a; other zones could "
                                      "not be checked: no answer from europe-west4-a"));
  fake_.zones["europe-west4-a"].answers = true;
  EXPECT_EQ(nodes(), 0u);
}

TEST_F(MachinesTest, RejectsInvalidRequests) {
  const std::string up = "cloud up --project p --zone us-central1-a ";
  expect_refusal(up + "bert --type v3-9", HasSubstr("did you mean"));
  expect_refusal(up + "my_bert --type v3-8", HasSubstr("is not allowed"));
  expect_refusal(up + "bert --type v3-8 --runtime-version tpu-vm-base",
                 HasSubstr("hint: use --runtime-version tpu-ubuntu2204-base"));
  for (const char* zone : {"-", "us-central1-a,", "us-central1", "a/../b"})
    expect_refusal(str("cloud up bert --project p --type v3-8 --zone ", zone),
                   HasSubstr("is not a zone name"));
  expect_refusal("cloud down bert --project p --zone -", HasSubstr("is not a zone name"));
  for (const char* line :
       {"up bert --type v3-8 --dry-run", "down bert", "start bert", "status bert", "types", "list"})
    expect_refusal(str("cloud ", line, " --project p --zone us-centra1-b"),
                   AllOf(HasSubstr("the project has no TPUs in us-centra1-b"),
                         HasSubstr("hint: did you mean 'us-central1-b'?")));
  expect_refusal(up + "bert --type v3-8 --label x", HasSubstr("'x' is not NAME=VALUE"));
  expect_refusal(up + "bert --type v3-8 --label \"$(printf 'team=\\377')\"",
                 HasSubstr("--label: the value of 'team' is not valid UTF-8"));
}

}  // namespace
}  // namespace smelt::cloud
