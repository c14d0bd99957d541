#include <gmock/gmock.h>

#include <utility>

#include "base/error.h"
#include "cloud/machines.h"
#include "cloud/tpu_test.h"
#include "support/command.h"
#include "support/error_of.h"

namespace smelt::cloud {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

class QueueTest : public TpuTest {
 protected:
  void put_in_queue(bool spot = false) {
    enqueue(tpu_, "p", {"bert", {kZone}, {"v3-8", "tpu-ubuntu2204-base", spot}}, {}, patience_);
  }
  TpuNode wait_for_it() { return wait_for_machine(tpu_, kZone, "bert", patience_); }

  std::vector<std::string> told_;
  Patience patience_{[](std::chrono::milliseconds) {},
                     [this](const std::string& line) { told_.push_back(line); }};
};

TEST_F(QueueTest, ReturnsTheNodeWhenItIsGranted) {
  put_in_queue(true);
  EXPECT_EQ(find_machine(tpu_, kAllZones, "bert").queued->state, "WAITING_FOR_RESOURCES");
  const TpuNode node = wait_for_it();
  EXPECT_EQ(node.state, "READY");
  EXPECT_TRUE(node.is_spot);
  EXPECT_EQ(node.queued_resource, "bert");
  EXPECT_THAT(told_, ElementsAre("us-central1-a: bert is WAITING_FOR_RESOURCES",
                                 "us-central1-a: bert is PROVISIONING",
                                 "us-central1-a: bert is ACTIVE", "us-central1-a: bert is READY"));
  // take_down() also removes the queued resource.
  EXPECT_TRUE(take_down(tpu_, "p", kZone, "bert", patience_));
  EXPECT_FALSE(tpu_.node(kZone, "bert"));
  EXPECT_TRUE(tpu_.queued(kAllZones).items.empty());
  EXPECT_FALSE(take_down(tpu_, "p", kZone, "bert", patience_));
}

TEST_F(QueueTest, RejectsAQueuedName) {
  fake_.queue_looks = 100;
  fake_.lost_answers = {{.hangs_up = true}};  // the request is executed, but its response is lost
  put_in_queue();
  EXPECT_EQ(tpu_.queued(kAllZones).items.size(), 1u);
  EXPECT_THAT(
      error_of<UsageError>([&] { put_in_queue(); }),
      AllOf(HasSubstr("bert already exists in us-central1-a's queue, WAITING_FOR_RESOURCES"),
            HasSubstr("smelt cloud down bert --zone us-central1-a")));
  EXPECT_THAT(error_of<UsageError>(
                  [&] { bring_up(tpu_, "p", {"bert", {kZone}, {"v3-8", "x"}}, patience_); }),
              HasSubstr("bert already exists in us-central1-a's queue"));
  take_down(tpu_, "p", kZone, "bert", patience_);
  fake_.lost_answers = {{.status = 503}};
  fake_.obeys_lost = false;
  EXPECT_THAT(error_of<SystemError>([&] { put_in_queue(); }),
              HasSubstr("bert in us-central1-a: no response to the request: "));
}

TEST_F(QueueTest, ReportsWhyAQueuedResourceFailed) {
  fake_.queue_fault = "the reservation has ended";
  put_in_queue();
  EXPECT_EQ(error_of<SystemError>([&] { wait_for_it(); }),
            "cloud: bert in us-central1-a: it is FAILED: the reservation has ended\n  hint: smelt "
            "cloud down bert --zone us-central1-a deletes the rest");
  EXPECT_THAT(run_smelt("cloud status bert --project p").text,
              HasSubstr("state:   FAILED\nsince:   2026-11-23 17:40Z\nfault:   the reservation has "
                        "ended\nnote: the request has failed; delete it: smelt cloud down bert"));
}

TEST_F(QueueTest, TimeoutKeepsTheQueuedResource) {
  fake_.zones[kZone].capacity = 0;
  put_in_queue();
  EXPECT_THAT(error_of<SystemError>([&] { wait_for_it(); }),
              AllOf(HasSubstr("it is still WAITING_FOR_RESOURCES"),
                    HasSubstr("hint: it stays in the queue; wait with smelt cloud status bert "
                              "--zone us-central1-a --wait")));
  patience_.wait = [](std::chrono::milliseconds) { throw Stopped("x"); };
  EXPECT_THAT(error_of<Stopped>([&] { wait_for_it(); }), HasSubstr("it stays in the queue"));
  EXPECT_EQ(tpu_.queued(kAllZones).items.size(), 1u);
  EXPECT_EQ(error_of<UsageError>([&] { find_machine(tpu_, kAllZones, "other"); }),
            "cloud: there is no other\n  hint: smelt cloud list");
}

// A request may be queued for hours or days, in which a laptop often loses its network.
TEST_F(QueueTest, WaitsForAnUnreachableServer) {
  fake_.queue_looks = 4;
  put_in_queue();
  patience_.wait = [&, is_first = true](std::chrono::milliseconds time) mutable {
    if (std::exchange(is_first, false)) fake_.out_until = fake_.seconds + 180;
    fake_.seconds += std::chrono::duration<double>(time).count();
  };
  EXPECT_EQ(wait_for_it().state, "READY");
  EXPECT_THAT(
      told_,
      testing::Contains(HasSubstr("the server does not respond; waiting for it: ")).Times(1));
}

TEST_F(QueueTest, OtherErrorsNameTheCommandThatCancelsTheRequest) {
  put_in_queue();
  patience_.wait = [&](std::chrono::milliseconds) {
    fake_.faults = {
        ServedAnswer{403, R"({"error": {"status": "PERMISSION_DENIED", "message": "no"}})"}};
  };
  EXPECT_THAT(error_of<UsageError>([&] { wait_for_it(); }),
              AllOf(HasSubstr("wait with smelt cloud status bert --zone us-central1-a --wait"),
                    HasSubstr("remove it with smelt cloud down bert --zone us-central1-a")));
}

TEST_F(QueueTest, ReportsAPreemptedNode) {
  put_in_queue(true);
  wait_for_it();
  fake_.preempt("bert");
  EXPECT_THAT(error_of<SystemError>([&] { wait_for_it(); }),
              StartsWith("cloud: bert in us-central1-a: it is SUSPENDED"));
  EXPECT_THAT(
      run_smelt("cloud status bert --project p").text,
      AllOf(HasSubstr("state:   PREEMPTED\n"), HasSubstr("note: it is lost and uses quota")));
}

TEST_F(QueueTest, CommandsQueueAndWait) {
  const std::string up = "cloud up bert --project p --type v3-8 --zone us-central1-a --queued ";
  EXPECT_THAT(run_smelt(up + "--dry-run --valid-until 6h --reservation held").text,
              AllOf(StartsWith("bert: v3-8, reserved, queued, tpu-ubuntu2204-base, project p\n"),
                    HasSubstr(R"("validUntilDuration":"21600s")"),
                    HasSubstr(R"("projects/p/locations/us-central1-a/reservations/held")")));
  EXPECT_THAT(
      run_smelt(up + "--no-wait --yes").text,
      HasSubstr("the request is queued: smelt cloud status bert --zone us-central1-a --wait"));
  EXPECT_THAT(run_smelt("cloud list --project p").text, HasSubstr("in the queue"));
  fake_.queue_looks = 0;
  const std::string status = "cloud status bert --project p ";
  EXPECT_THAT(run_smelt(status + "--wait").text,
              AllOf(HasSubstr("bert: v3-8, in us-central1-a, tpu-ubuntu2204-base\n"),
                    HasSubstr("cost:    $8.00 an hour (of 2019-06, "),
                    HasSubstr(" months old: check it), at most $"),
                    HasSubstr("worker 0: 10.0.0.2 1.2.3.4\n")));
  EXPECT_THAT(run_smelt(status + "--json").text,
              AllOf(HasSubstr(R"("state":"ACTIVE")"), HasSubstr(R"("dollars_an_hour":8.0)")));
  fake_.polls = 1;
  EXPECT_THAT(run_smelt("cloud down bert --project p --zone us-central1-a --yes").text,
              HasSubstr("deleted\n"));
}

TEST_F(QueueTest, StopsAndStartsAMachine) {
  fake_.polls = 1;
  bring_up(tpu_, "p", {"bert", {kZone}, {"v3-8", "x"}}, patience_);
  const std::string where = " bert --project p --zone us-central1-a";
  EXPECT_EQ(run_smelt("cloud stop" + where).text, "bert in us-central1-a: stopped\n");
  EXPECT_EQ(tpu_.node(kZone, "bert")->state, "STOPPED");
  expect_refusal("cloud ssh me@bert --project p --command true",
                 AllOf(HasSubstr("cloud: bert in us-central1-a is STOPPED"),
                       HasSubstr("smelt cloud start bert --zone us-central1-a")));
  EXPECT_EQ(run_smelt("cloud start" + where).text, "bert in us-central1-a: started\n");
  EXPECT_EQ(tpu_.node(kZone, "bert")->state, "READY");
  expect_refusal("cloud stop other --project p --zone us-central1-a",
                 HasSubstr("cloud: no machine other in us-central1-a"));
  bring_up(tpu_, "p", {"spot", {kZone}, {"v3-8", "x", true}}, patience_);
  expect_refusal("cloud stop spot --project p --zone us-central1-a",
                 HasSubstr("spot is a spot machine, which cannot be started or stopped"));
}

TEST_F(QueueTest, RejectsConflictingOptions) {
  const std::string up = "cloud up bert --project p --type v3-8 --zone us-central1-a";
  expect_refusal(up + ",us-central1-b --queued", HasSubstr("--queued: expected one zone"));
  expect_refusal(up + " --valid-until 6h", HasSubstr("only for queued machines"));
  expect_refusal(up + " --queued --valid-until soon", HasSubstr("'soon' is not a duration"));
  expect_refusal(up + " --spot --reserved", HasSubstr("--spot and --reserved cannot be combined"));
}

TEST_F(QueueTest, UsesThePricesOfPlans) {
  EXPECT_THAT(
      run_smelt("cloud prices --type v3-8").text,
      AllOf(StartsWith("machine  region"), HasSubstr("v3-8     us-central1  8.00    2.40")));
  EXPECT_THAT(run_smelt("cloud prices --json").text, HasSubstr(R"({"name":"v5e","chips":1)"));
  expect_refusal("cloud prices --region mars", HasSubstr("no price of 'mars' is known"));
}

}  // namespace
}  // namespace smelt::cloud
