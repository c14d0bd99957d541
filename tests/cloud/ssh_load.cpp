// Measures how long a command takes on one worker and on many workers at once. The workers are real
// sshd servers on the loopback interface and share this machine's cores with the ssh clients. Their
// HOME is a temporary folder, so that their shells run no startup files of the user.
// Usage: ssh_load [WORKERS [COMMAND [ROUNDS]]]

#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "cloud/machines.h"
#include "cloud/ssh.h"
#include "cloud/ssh_servers.h"
#include "cloud/tpu_test.h"

namespace smelt::cloud {
namespace {

class Workers : public TpuTest {
 public:
  explicit Workers(int count)
      : servers_(count, [home = "HOME=" + home_.dir.path()](int) { return home; }) {
    fake_.addresses = servers_.addresses();
    fake_.host_keys = servers_.host_keys();
    fake_.on_metadata = [this](const Json& metadata) { servers_.take(metadata); };
    bring_up(tpu_, "p", {"pod", {kZone}, {"v2-8", "x"}}, patience_);
  }
  void TestBody() override {}

  // Returns the seconds until the command has ended on all these workers.
  double seconds(const std::string& workers, const std::string& command) {
    const SshSettings settings{local_user(), workers, "", servers_.config(), {}, false};
    const SshAccess access = open_ssh(tpu_, "p", *tpu_.node(kZone, "pod"), settings, patience_);
    std::vector<FleetProgram> programs;
    for (const SshWorker& worker : access.workers)
      programs.push_back({worker.index, ssh_words(access, worker, guarded_command(command))});
    std::string said;
    FleetRules rules;
    rules.out = rules.err = [&](const std::string& text) { said += text; };
    const auto begin = Clock::now();
    const auto ends = run_fleet(programs, rules);
    CHECK(worst_status(ends) == 0, said);
    return seconds_since(begin);
  }

 private:
  const Patience patience_{[](std::chrono::milliseconds) {}, [](const std::string&) {}};
  SshServers servers_;
};

void load(int count, const std::string& command, int rounds) {
  Workers workers(count);
  workers.seconds("0", "true");  // pushes the key
  std::vector<double> one, all;
  for (int i = 0; i < rounds; ++i) {
    one.push_back(workers.seconds("0", command));
    all.push_back(workers.seconds("all", command));
  }
  std::ranges::sort(one);
  std::ranges::sort(all);
  const auto middle = static_cast<std::size_t>(rounds) / 2;
  std::cout << "one_s " << one[middle] << "\nall_s " << all[middle] << "\n";
}

}  // namespace
}  // namespace smelt::cloud

int main(int argc, char** argv) {
  smelt::set_log_level(smelt::LogLevel::warning);
  smelt::cloud::load(argc > 1 ? std::atoi(argv[1]) : 32, argc > 2 ? argv[2] : "true",
                     argc > 3 ? std::atoi(argv[3]) : 5);
}
