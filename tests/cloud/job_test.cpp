// Single cases of a job's machine; tests/cloud/job_scenarios_test.cpp tests whole jobs.
#include "cloud/job.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "cloud/tpu_test.h"
#include "support/error_of.h"

namespace smelt::cloud {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class JobMachinesTest : public TpuTest {
 protected:
  JobMachinesTest() {
    fake_.completes_unasked = true;
    fake_.polls = 1;
    journal_.spec.run = "r1";
    journal_.spec.project = "p";
    journal_.spec.zones = {{kZone, 2.4}, {"us-central1-b", 2.4}};
    journal_.spec.node = {"v3-8", "x", true};
  }
  // Polls until the machine is READY, at most `looks` times.
  std::optional<TpuNode> seek(int looks) {
    std::optional<TpuNode> node;
    for (int i = 0; i < looks && !node; ++i, now_ += 30) node = machines_.seek();
    return node;
  }
  int looks_until_clear() {
    int looks = 1;
    for (; !machines_.clear(); ++looks) now_ += 30;
    return looks;
  }
  std::vector<std::string> places() {
    std::vector<std::string> out;
    for (const auto& [name, state] : fake_.states()) out.push_back(name);
    return out;
  }
  TpuNode make(const std::string& zone) {
    tpu_.create(zone, "smelt-r1", journal_.spec.node);
    return *tpu_.node(zone, "smelt-r1");
  }

  double now_ = 1000;
  std::function<void()> lead_ = [] {};
  JobJournal journal_;
  std::vector<JobJournal> saved_;
  JobMachines machines_{journal_,
                        {tpu_, [this] { return now_; }, [this] { saved_.push_back(journal_); },
                         [this] { lead_(); }, [](const std::string&) {}},
                        [](const std::string& zone, double seconds) {
                          return str("guard of ", zone, " for ", seconds);
                        }};
};

TEST_F(JobMachinesTest, CreatesAMachineWithLabelAndGuard) {
  journal_.spec.budget = 50;
  const auto node = seek(5);
  ASSERT_TRUE(node);
  EXPECT_EQ(node->labels.at("smelt-run"), "r1");
  EXPECT_EQ(node->metadata.at("startup-script"), "guard of us-central1-a for 3600");
  // The journal recorded the zone before the machine was requested.
  ASSERT_FALSE(saved_.empty());
  EXPECT_EQ(saved_.front().there()->zone, kZone);
  EXPECT_EQ(saved_.front().there()->operation, "");
  EXPECT_EQ(looks_until_clear(), 3);
  EXPECT_TRUE(fake_.states().empty());
}

TEST_F(JobMachinesTest, RepeatsARequestWithoutResponseBeforeTheNextZone) {
  fake_.lost_answers = {{.hangs_up = true}, {.status = 503}};  // both requests are executed
  fake_.hidden_looks = 3;
  const auto node = seek(8);
  ASSERT_TRUE(node);
  EXPECT_THAT(places(), ElementsAre("us-central1-a/smelt-r1"));
}

TEST_F(JobMachinesTest, TriesTheNextZoneWithoutCapacity) {
  fake_.zones[kZone].capacity = 0;
  ASSERT_TRUE(seek(6));
  EXPECT_THAT(places(), ElementsAre("us-central1-b/smelt-r1"));
  EXPECT_EQ(journal_.machines.size(), 1u);  // a machine that was not created costs nothing
}

TEST_F(JobMachinesTest, KeepsOnlyOneOfSeveralMachines) {
  make("us-central1-b");
  make(kZone);
  seek(1);
  ASSERT_TRUE(seek(6));
  EXPECT_EQ(places().size(), 1u);
}

TEST_F(JobMachinesTest, DeletesAnExtraMachineInAnotherZoneWhileTraining) {
  ASSERT_TRUE(seek(5));
  make("us-central1-b");
  machines_.drop_strays();
  EXPECT_EQ(fake_.states().at("us-central1-b/smelt-r1"), "DELETING");
  EXPECT_EQ(fake_.states().at("us-central1-a/smelt-r1"), "READY");
}

TEST_F(JobMachinesTest, FirstDeadlineLeavesTimeToStart) {
  journal_.spec.budget = 50;
  journal_.spec.silence = 600;
  const auto node = seek(5);
  ASSERT_TRUE(node);
  EXPECT_EQ(node->metadata.at("startup-script"), "guard of us-central1-a for 1800");
  EXPECT_GE(journal_.there()->deadline, 1000 + 1800);
}

TEST_F(JobMachinesTest, DeletesALostMachineBeforeCreatingAnother) {
  ASSERT_TRUE(seek(5));
  fake_.preempt("smelt-r1");
  EXPECT_FALSE(machines_.current());
  fake_.quota = 1;  // the lost machine uses it up
  ASSERT_TRUE(seek(8));
  ASSERT_EQ(journal_.machines.size(), 2u);
  EXPECT_GT(journal_.machines[0].gone, 0);
  EXPECT_NEAR(dollars_so_far(journal_, now_), (now_ - 1000) / 3600 * 2.4, 0.1);
}

TEST_F(JobMachinesTest, WaitsForARequestWithoutResponse) {
  fake_.lost_answers = {{.hangs_up = true}};
  fake_.hidden_looks = 3;
  machines_.seek();
  EXPECT_EQ(places().size(), 1u);
  EXPECT_GT(looks_until_clear(), 3);
  EXPECT_TRUE(fake_.states().empty());
}

TEST_F(JobMachinesTest, WaitsForTheLatestOfSeveralLostRequests) {
  fake_.obeys_lost = false;
  fake_.lost_answers = {{.hangs_up = true}};
  machines_.seek();
  now_ += 600;
  fake_.obeys_lost = true;
  fake_.lost_answers = {{.hangs_up = true}};
  fake_.hidden_looks = 3;
  machines_.seek();
  EXPECT_EQ(places().size(), 1u);
  looks_until_clear();
  EXPECT_TRUE(fake_.states().empty());
}

TEST_F(JobMachinesTest, DeletesMachinesIfAnotherZoneDoesNotRespond) {
  fake_.zones[kZone].capacity = 0;
  ASSERT_TRUE(seek(6));
  fake_.zones[kZone].answers = false;
  for (int look = 0; look < 2; ++look) EXPECT_THROW(machines_.clear(), SystemError);
  EXPECT_TRUE(fake_.states().empty());
  fake_.zones[kZone].answers = true;
  looks_until_clear();
}

TEST_F(JobMachinesTest, UsesAMachineIfAnotherZoneDoesNotRespond) {
  fake_.zones[kZone].capacity = 0;
  ASSERT_FALSE(seek(3));
  EXPECT_THAT(places(), ElementsAre("us-central1-b/smelt-r1"));
  fake_.zones[kZone].answers = false;
  EXPECT_TRUE(seek(1));
}

TEST_F(JobMachinesTest, MachineIsLostOnlyAfterTwoFailedLookups) {
  ASSERT_TRUE(seek(5));
  fake_.vanish("smelt-r1");
  EXPECT_THAT(error_of<SystemError>([&] { machines_.current(); }),
              HasSubstr("smelt-r1 in us-central1-a was not found"));
  EXPECT_FALSE(machines_.current());
  EXPECT_EQ(journal_.there(), nullptr);
}

TEST_F(JobMachinesTest, ReportsRemainingAndUnknownResources) {
  EXPECT_TRUE(machines_.clear());
  fake_.zones["us-central1-b"].answers = fake_.zones["europe-west4-a"].answers = false;
  EXPECT_THAT(machines_.left(),
              ElementsAre("unknown resources in us-central1-b, which does not respond"));
  fake_.zones["us-central1-b"].answers = fake_.zones["europe-west4-a"].answers = true;
  journal_.spec.node.labels["smelt-run"] = "r1";
  tpu_.create("europe-west4-a", "another", journal_.spec.node);
  EXPECT_THAT(error_of<SystemError>([&] { machines_.clear(); }),
              HasSubstr("some resources of the job are not deleted: another in europe-west4-a"));
}

TEST_F(JobMachinesTest, OnlyTheLeaderDeletesTheMachine) {
  ASSERT_TRUE(seek(5));
  lead_ = [] { throw JobTakenOver("another leads"); };
  EXPECT_THROW(machines_.remove(), JobTakenOver);
  EXPECT_THROW(machines_.clear(), JobTakenOver);
  EXPECT_EQ(fake_.states().at("us-central1-a/smelt-r1"), "READY");
  lead_ = [] { throw SystemError("the bucket does not answer"); };
  looks_until_clear();
  EXPECT_TRUE(fake_.states().empty());
}

TEST_F(JobMachinesTest, BillsAnUnknownMachineFromItsCreation) {
  fake_.seconds = now_ - 900;
  make(kZone);
  ASSERT_TRUE(seek(2));
  EXPECT_NEAR(dollars_so_far(journal_, now_), 0.6, 0.1);
}

TEST_F(JobMachinesTest, BillsAQueuedMachineFromItsCreation) {
  journal_.spec.queued = true;
  fake_.zones[kZone].queue_moves = false;
  EXPECT_FALSE(seek(5));
  now_ += 1e6;  // nobody polls during this time
  EXPECT_EQ(dollars_so_far(journal_, now_), 0);
  fake_.zones[kZone].queue_moves = true;
  fake_.seconds = now_ - 1800;
  for (int look = 0; look < 3; ++look) tpu_.queued_one(kZone, "smelt-r1");  // it is granted then
  ASSERT_TRUE(seek(5));
  EXPECT_NEAR(dollars_so_far(journal_, now_), 1.2, 0.1);
}

TEST_F(JobMachinesTest, BillsAMachineThatWasNeverSeen) {
  journal_.spec.queued = true;
  fake_.zones[kZone].queue_moves = false;
  EXPECT_FALSE(seek(5));
  tpu_.dequeue(kZone, "smelt-r1");
  now_ += 1e6;
  fake_.zones[kZone].queue_moves = true;
  ASSERT_TRUE(seek(9));
  ASSERT_EQ(journal_.machines.size(), 2u);
  // The silence timeout of an hour, and ten minutes to delete itself.
  EXPECT_NEAR(dollars_so_far(journal_, now_), 4200 / 3600.0 * 2.4, 0.1);
}

TEST_F(JobMachinesTest, ReportsARefusalThatAppliesToAllZones) {
  journal_.spec.node.accelerator_type = "v9-8";
  EXPECT_THAT(error_of<UsageError>([&] { seek(3); }),
              HasSubstr("smelt-r1 in us-central1-a: Accelerator type v9-8 is not found"));
  EXPECT_EQ(journal_.there(), nullptr);
}

TEST(JobJournal, RoundTripKeepsAllFields) {
  JobJournal journal;
  journal.spec.run = "r1";
  journal.spec.zones = {{"a-b1-c", 2.4}};
  journal.spec.budget = 50;
  journal.step = JobStep::train;
  journal.progress = 7;
  journal.machines = {{"a-b1-c", "operation", 2.4, 10, 10, 3610, 20, true}};
  const std::string text = json_of(journal).dump();
  EXPECT_EQ(json_of(parse_journal(text, "it")).dump(), text);
  EXPECT_DOUBLE_EQ(dollars_so_far(journal, 1e6), 2.4);
  // Earlier versions of smelt wrote a zone twice if the user named it twice.
  JobJournal twice = journal;
  twice.spec.zones.push_back(twice.spec.zones.front());
  twice.zone = 1;
  EXPECT_EQ(json_of(parse_journal(json_of(twice).dump(), "it")).dump(), text);
  auto earlier = json_of(journal);  // as written by a version without these fields
  earlier["spec"].erase("turn");
  earlier["machines"][0].erase("stays");
  EXPECT_EQ(json_of(parse_journal(earlier.dump(), "it")).dump(), text);
  // A machine that may not delete itself is billed until it is known to be gone.
  journal.machines[0].gone = 0;
  EXPECT_DOUBLE_EQ(dollars_so_far(journal, 10 + 7200), (20 + 600 - 10) / 3600.0 * 2.4);
  journal.machines[0].stays = true;
  EXPECT_DOUBLE_EQ(dollars_so_far(journal, 10 + 7200), 4.8);
  EXPECT_THAT(error_of<UsageError>([&] { parse_journal(text.substr(1), "it"); }),
              HasSubstr("it: not a 'smelt cloud job 1' file"));
  auto unsafe = json_of(journal);  // the checksum becomes part of paths and commands
  unsafe["spec"]["package_sha256"] = "$(reboot)";
  EXPECT_THAT(error_of<UsageError>([&] { parse_journal(unsafe.dump(), "it"); }),
              HasSubstr("it: damaged: package_sha256 is '$(reboot)', expected a SHA-256"));
  EXPECT_THAT(error_of<UsageError>(
                  [] { parse_journal(R"({"format": "smelt cloud job 1", "spec": {}})", "it"); }),
              HasSubstr("it: damaged: "));
}

}  // namespace
}  // namespace smelt::cloud
