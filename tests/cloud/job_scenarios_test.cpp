#include <gtest/gtest.h>

#include "base/error.h"
#include "cloud/job_scenario.h"

namespace smelt::cloud {
namespace {

class JobScenarios : public testing::Test {
 protected:
  JobScenarios() { home_.name_file(google_.user()); }
  EmptyHome home_;
  GoogleStandIn google_;
};

// Draws the rules of a scenario from its seed.
void draw_rules(JobScenario& scenario, unsigned seed) {
  std::mt19937 draw(seed ^ 0x5eedu);
  const auto real = [&](double to) { return std::uniform_real_distribution<>(0, to)(draw); };
  ScenarioRules& rules = scenario.rules;
  rules.faults = draw() % 4 == 0 ? 0 : real(0.15);
  rules.kills = draw() % 3 == 0 ? 0 : real(0.01);
  rules.preempted = draw() % 3 == 0 ? 0 : real(1.0 / 1500);
  rules.unreached = draw() % 4 == 0 ? real(0.3) : 0;
  rules.no_capacity = draw() % 3 == 0 ? real(0.9) : 0;
  rules.abandoned = draw() % 10 == 0;
  scenario.spec.queued = draw() % 5 == 0;
  scenario.spec.silence = 1800 + real(3600);
  if (draw() % 4 == 0) scenario.spec.budget = 0.8 + real(1.5);
  if (draw() % 6 == 0) scenario.spec.until = kBegin + 1200 + real(5000);
  if (draw() % 5 == 0) scenario.rival_at = 1 + static_cast<int>(draw() % 80);
  scenario.rival_lasts = 1 + static_cast<int>(draw() % 80);
  rules.outages = draw() % 3 == 0 ? real(1.0 / 1500) : 0;
  rules.failing = draw() % 3 == 0 ? real(0.5) : 0;
  rules.busy = draw() % 3 == 0 ? real(0.5) : 0;
  scenario.google().addresses_after = draw() % 3 == 0 ? real(300) : 0;
  scenario.google().requires_quota_project = draw() % 2 == 0;
}

TEST_F(JobScenarios, TwoHundredRandomJobsLeaveNoMachineAndLoseNoWork) {
  std::map<std::string, int> outcomes;
  int kills = 0, preemptions = 0, outages = 0;
  std::map<std::string, int> told{{"An unknown error happened", 0},
                                  {"has no addresses yet", 0},
                                  {"another operation is in progress", 0}};
  for (unsigned seed = 1; seed <= 200; ++seed) {
    JobScenario scenario(seed, google_);
    draw_rules(scenario, seed);
    scenario.run();
    ++outcomes[scenario.outcome];
    kills += scenario.kills;
    preemptions += scenario.preemptions;
    outages += scenario.outages;
    for (auto& [words, times] : told) times += scenario.told.find(words) != std::string::npos;
    EXPECT_TRUE(scenario.faults_found.empty())
        << "seed " << seed << ": " << join(scenario.faults_found, "; ") << "\n"
        << scenario.told;
  }
  std::string words;
  for (const auto& [name, count] : outcomes) words += str(name, " ", count, ", ");
  SCOPED_TRACE(words);
  // The random scenarios must cover all these cases.
  EXPECT_GT(outcomes["done"], 100);
  EXPECT_GT(outcomes["budget"], 10);
  EXPECT_GT(outcomes["until"], 5);
  EXPECT_GT(outcomes["abandoned"], 5);
  EXPECT_GT(kills, 200);
  EXPECT_GT(preemptions, 100);
  EXPECT_GT(outages, 50);
  for (const auto& [words, times] : told) EXPECT_GT(times, 3) << words;
  if (HasFailure())
    std::cerr << words << kills << " kills, " << preemptions << " preemptions, " << outages
              << " outages\n";
}

TEST_F(JobScenarios, SurvivesRealServerBehavior) {
  const auto done = [&](const auto& set) {
    JobScenario scenario(7, google_);
    set(scenario);
    scenario.run();
    EXPECT_EQ(scenario.outcome, "done") << scenario.told;
    EXPECT_EQ(join(scenario.faults_found, "; "), "");
    EXPECT_EQ(scenario.machines, 1) << scenario.told;
    return scenario.told;
  };
  EXPECT_NE(done([](JobScenario& s) {
              s.google().addresses_after = 200;
            }).find("smelt-r7-1 in us-central1-a has no addresses yet"),
            std::string::npos);
  done([](JobScenario& s) { s.rules.busy = 0.7; });
  EXPECT_NE(done([](JobScenario& s) { s.rules.failing = 0.9; }).find("An unknown error happened"),
            std::string::npos);
  EXPECT_NE(done([](JobScenario& s) { s.rules.outages = 1.0 / 600; }).find("NOTHING IS REACHED"),
            std::string::npos);
}

TEST_F(JobScenarios, GivesUpWithoutProgress) {
  const auto given_up = [&](const auto& set) {
    JobScenario scenario(7, google_);
    set(scenario);
    scenario.run();
    EXPECT_EQ(scenario.outcome, "failed") << scenario.told;
    EXPECT_EQ(join(scenario.faults_found, "; "), "");
    return scenario.why;
  };
  EXPECT_EQ(given_up([](JobScenario& s) { s.crashes_with = 1; }),
            "5 starts in a row without a new checkpoint");
  EXPECT_EQ(given_up([](JobScenario& s) { s.rules.uninstallable = true; }),
            "5 machines and starts in a row without a new checkpoint; smelt setup tpu: no route");
  EXPECT_EQ(given_up([](JobScenario& s) {  // each attempt takes minutes to fail
              s.rules.uninstallable = true;
              s.rules.install_takes = 400;
            }),
            "5 machines and starts in a row without a new checkpoint; smelt setup tpu: no route");
  EXPECT_EQ(given_up([](JobScenario& s) {
              s.rules.preempted = 0.01;
              s.rules.install_takes = 1500;
            }),
            "5 machines and starts in a row without a new checkpoint; the machine is lost");
  EXPECT_EQ(
      given_up([](JobScenario& s) { s.rules.unstartable = true; }),
      "5 machines and starts in a row without a new checkpoint; mkdir: No space left on device");
  EXPECT_EQ(given_up([](JobScenario& s) { s.rules.unreached = 1; }),
            "5 machines and starts in a row without a new checkpoint; ssh: connect to host: "
            "Connection timed out");
  EXPECT_EQ(given_up([](JobScenario& s) {
              s.spec.queued = true;
              s.google().queue_fault = "no such network";
            }),
            "no machine became available in the time limit");
  EXPECT_EQ(given_up([](JobScenario& s) { s.crashes_with = 2; }),
            "the command ended with status 2; its last output says why");
  EXPECT_EQ(given_up([](JobScenario& s) { s.rules.no_capacity = 1; }),
            "no machine became available in the time limit");
}

// With several zones, a queued request that has waited too long is withdrawn and the next zone is
// tried. With a single zone the request stays in its queue.
TEST_F(JobScenarios, LeavesAStalledQueueForTheNextZone) {
  for (const unsigned seed : {7u, 6u}) {  // two zones, one zone
    JobScenario scenario(seed, google_);
    scenario.spec.queued = true;
    scenario.spec.patience = 5 * 3600;
    scenario.google().zones["us-central1-a"].queue_moves = false;
    scenario.run();
    EXPECT_EQ(join(scenario.faults_found, "; "), "");
    const bool has_another = scenario.spec.zones.size() > 1;
    EXPECT_EQ(scenario.outcome, has_another ? "done" : "failed") << scenario.told;
    EXPECT_EQ(
        scenario.told.find("in the queue: its time in the queue is over") != std::string::npos,
        has_another);
    EXPECT_LT(scenario.dollars, 5);  // time in the queue costs nothing
    EXPECT_NEAR(scenario.journal_dollars, scenario.dollars, 0.2);
  }
}

// Both for a command that ended and for one that the time limit stopped.
TEST_F(JobScenarios, ShowsAllOutputBeforeTheMachineIsDeleted) {
  for (const double until : {0.0, kBegin + 3000}) {
    JobScenario scenario(7, google_);
    scenario.spec.until = until;
    scenario.run();
    EXPECT_EQ(scenario.outcome, until > 0 ? "until" : "done");
    EXPECT_TRUE(scenario.printed.ends_with("its last word\n"));
  }
}

// The job does not wait until the machine deletes itself.
TEST_F(JobScenarios, DeletesAMachineWithoutSshAccess) {
  JobScenario scenario(7, google_);
  scenario.spec.until = kBegin + 3000;
  scenario.rules.locked_out_at = 2000;
  scenario.run();
  EXPECT_EQ(scenario.outcome, "until");
  EXPECT_NE(scenario.told.find("smelt-r7-1 is READY; deleting it"), std::string::npos)
      << scenario.told;
}

// If the key is unlocked, the job continues. If it never is, each machine counts as an attempt.
TEST_F(JobScenarios, WaitsForALockedKey) {
  JobScenario scenario(7, google_);
  scenario.rules.locked_until = 2000;
  scenario.run();
  EXPECT_EQ(scenario.outcome, "done");
  EXPECT_EQ(scenario.machines, 1);
  EXPECT_NE(scenario.told.find("this key has a passphrase\n  hint: ssh-add"), std::string::npos)
      << scenario.told;
  JobScenario locked(7, google_);
  locked.rules.locked_until = 1e9;
  locked.run();
  EXPECT_EQ(locked.outcome, "failed");
  EXPECT_EQ(locked.machines, locked.spec.attempts);
}

// The machine costs money while the installation hangs.
TEST_F(JobScenarios, BudgetLimitEndsAHangingInstallation) {
  JobScenario scenario(7, google_);
  scenario.rules.install_takes = 90 * 60;
  scenario.spec.budget = 1.5;
  scenario.run();
  EXPECT_EQ(scenario.outcome, "budget") << scenario.told;
  EXPECT_EQ(join(scenario.faults_found, "; "), "");
  EXPECT_GT(scenario.dollars, 0.9);
}

// An abandoned machine deletes itself after the silence timeout. A queued request costs nothing.
TEST_F(JobScenarios, DoesNotBillDaysWithoutAMachine) {
  for (const bool queued : {false, true}) {
    JobScenario scenario(7, google_);
    scenario.spec.queued = queued;
    scenario.google().queue_looks = 40;  // it is still queued when the supervisor leaves
    scenario.leaves_at = 900;
    scenario.away = 3 * 24 * 3600;
    scenario.total = 20000;
    scenario.run();
    EXPECT_EQ(scenario.kills, 1);
    EXPECT_EQ(scenario.outcome, "done") << scenario.told;
    EXPECT_EQ(join(scenario.faults_found, "; "), "");
    EXPECT_NEAR(scenario.journal_dollars, scenario.dollars, 0.5);
  }
}

TEST_F(JobScenarios, PollsMoreOftenThanTheSilenceTimeout) {
  JobScenario scenario(7, google_);
  scenario.spec.silence = scenario.times.poll = 600;
  scenario.run();
  EXPECT_EQ(scenario.outcome, "done") << scenario.told;
  EXPECT_EQ(scenario.told.find("(start 2)"), std::string::npos) << scenario.told;
}

// The machine must not delete itself while the leader waits for the installation.
TEST_F(JobScenarios, InstallationMayTakeLongerThanTheSilenceTimeout) {
  JobScenario scenario(7, google_);
  scenario.spec.silence = 600;
  scenario.rules.install_takes = 1200;
  scenario.run();
  EXPECT_EQ(scenario.outcome, "done") << scenario.told;
  EXPECT_EQ(join(scenario.faults_found, "; "), "");
  EXPECT_EQ(scenario.machines, 1);
}

// The leader is either killed and replaced, or suspended.
TEST_F(JobScenarios, PatienceDoesNotCountTimeWithoutARunningLeader) {
  for (const bool sleeps : {false, true}) {
    JobScenario scenario(7, google_);
    scenario.rules.no_capacity = 1;
    scenario.spec.patience = 5 * 3600;
    scenario.leaves_at = 4 * 3600;
    scenario.away = 25 * 3600;
    scenario.sleeps = sleeps;
    scenario.run();
    EXPECT_EQ(scenario.outcome, "failed");
    EXPECT_GT(scenario.seconds, (sleeps ? 4 + 25 : 5 + 25) * 3600 + 1800) << scenario.told;
  }
}

// A machine that may not delete itself is billed until it is known to be gone.
TEST_F(JobScenarios, BillsAMachineThatCannotDeleteItself) {
  JobScenario scenario(11, google_);
  scenario.rules.powerless = true;
  scenario.rules.kills = 0.004;
  scenario.spec.silence = 700;
  scenario.total = 40000;
  scenario.run();
  EXPECT_GT(scenario.kills, 3);
  EXPECT_NE(scenario.told.find("the machine's account may not delete it"), std::string::npos);
  EXPECT_GE(scenario.journal_dollars + 0.05, scenario.dollars) << scenario.told;
}

// Each seed starts the second leader at another point of the first one's work, from the very first
// on, and lets it act for another time.
TEST_F(JobScenarios, OnlyOneOfTwoLeadersActs) {
  int taken_over = 0;
  for (unsigned seed = 1; seed <= 60; ++seed) {
    JobScenario scenario(seed, google_);
    scenario.rival_at = static_cast<int>(seed);
    scenario.rival_lasts = 1 + static_cast<int>(seed * 7 % 40);
    scenario.rules.no_capacity = seed % 3 == 0 ? 0.5 : 0;
    scenario.total = 1000;
    scenario.run();
    EXPECT_EQ(scenario.outcome, "done");
    EXPECT_TRUE(scenario.faults_found.empty())
        << "seed " << seed << ": " << join(scenario.faults_found, "; ") << "\n"
        << scenario.told;
    taken_over += scenario.taken_over;
  }
  EXPECT_GT(taken_over, 40);
}

}  // namespace
}  // namespace smelt::cloud
