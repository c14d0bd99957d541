#include "distributed/join.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <optional>

#include "base/error.h"
#include "distributed/connection.h"
#include "distributed/coordination_service.h"
#include "distributed/handshake.h"
#include "distributed/pod_of_threads.h"
#include "distributed/socket.h"
#include "support/captured_log.h"
#include "support/environment.h"
#include "support/error_of.h"

namespace smelt::distributed {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::AllOf;
using testing::Each;
using testing::HasSubstr;

TEST(Join, ReportsADifferingFieldOnAllRanksBeforeTheRun) {
  const CapturedLog log;
  PodOfThreads pod(3);
  const auto errors = pod.run([&](int rank) {
    const PodFields fields{{"smelt", "0.1.0"},
                           {"the recipe", rank == 2 ? "crc32c 5f" : "crc32c a0"}};
    CoordinationService::connect(pod.place(rank), fields, pod.options(rank));
  });
  EXPECT_THAT(errors, Each(AllOf(HasSubstr("pod: host 2 ("),
                                 HasSubstr("has the recipe crc32c 5f, host 0 ("),
                                 HasSubstr(") has crc32c a0\n  hint: "))));
}

TEST(Join, RejectsAnotherNumberOfProcesses) {
  const CapturedLog log;
  PodOfThreads pod(2);
  const auto errors = pod.run([&](int rank) {
    PodPlace place = pod.place(rank);
    if (rank == 1) place.size = 4;
    CoordinationService::connect(place, {}, pod.options(rank));
  });
  EXPECT_THAT(errors, Each(AllOf(HasSubstr("has a pod of 4 processes, host 0 ("),
                                 HasSubstr("has 2\n  hint: start all with the same number"))));
}

// A process with another incarnation, or without the secret, is rejected; the run begins without
// it.
TEST(Join, RejectsAProcessOfAnotherStartOrSecretAndContinues) {
  const CapturedLog log;
  PodOfThreads pod(2);
  const auto connect = [&](int rank, const std::string& incarnation, const std::string& secret) {
    PodPlace place = pod.place(rank);
    place.incarnation = incarnation;
    PodOptions options = pod.options(rank);
    options.secret = secret;
    return CoordinationService::connect(place, {}, options);
  };
  auto own = std::async(std::launch::async, [&] { return connect(0, "job 7.1", "open"); });
  EXPECT_THAT(error_of<UsageError>([&] { connect(1, "job 7.0", "open"); }),
              AllOf(HasSubstr("has the start job 7.0, host 0 ("), HasSubstr("has job 7.1")));
  EXPECT_THAT(error_of<UsageError>([&] { connect(1, "job 7.1", "sesame"); }),
              AllOf(HasSubstr("has another secret, host 0 ("), HasSubstr("SMELT_POD_SECRET"),
                    testing::Not(HasSubstr("sesame"))));
  EXPECT_THAT(error_of<UsageError>([&] { connect(1, "", ""); }), HasSubstr("has no secret"));
  const auto other = connect(1, "", "open");
  EXPECT_TRUE(own.get());
  EXPECT_THAT(log.text(), AllOf(HasSubstr("job 7.0"), testing::Not(HasSubstr("sesame"))));
}

TEST(Join, RejectsASecondProcessOfTheSameRank) {
  const CapturedLog log;
  PodOfThreads pod(2);
  const auto hubs = pod.connect();
  EXPECT_THAT(
      error_of<UsageError>([&] { CoordinationService::connect(pod.place(1), {}, pod.options(1)); }),
      AllOf(HasSubstr("has the same rank as host 1 ("),
            HasSubstr("give each process a different rank")));
}

// A process that joins and then stops itself with SIGSTOP.
class StoppedMember {
 public:
  StoppedMember(PodOfThreads& pod, int rank) : pid_(::fork()) {
    if (pid_ != 0) return;
    const auto hub = CoordinationService::connect(pod.place(rank), {}, pod.options(rank));
    ::raise(SIGSTOP);
    ::_exit(0);
  }
  ~StoppedMember() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  StoppedMember(const StoppedMember&) = delete;
  // Returns once the process has stopped.
  void wait() const { EXPECT_EQ(::waitpid(pid_, nullptr, WUNTRACED), pid_); }

 private:
  const ::pid_t pid_;
};

// A restarted host tries to join before rank 0 has noticed that its earlier process is dead. It
// joins the coordination service that rank 0 starts next.
TEST(Join, RestartedHostJoinsTheNextRun) {
  const CapturedLog log;
  PodTimes times = quick_times();
  times.silence = milliseconds(600);
  times.taken = milliseconds(20'000);
  PodOfThreads pod(2, times);
  const StoppedMember stopped(pod, 1);
  auto hub = CoordinationService::connect(pod.place(0), {}, pod.options(0));
  stopped.wait();
  auto again = std::async(std::launch::async, [&] {
    return CoordinationService::connect(pod.place(1), {}, pod.options(1));
  });
  EXPECT_THAT(error_of<SystemError>([&] { hub->barrier("never", seconds(60)); }),
              HasSubstr("no heartbeat for "));
  EXPECT_THAT(log.text(), HasSubstr("has the same rank as host 1 ("));
  hub.reset();
  hub = CoordinationService::connect(pod.place(0), {}, pod.options(0));
  EXPECT_TRUE(again.get());
}

// Sends the end of a run to the first process that connects, and accepts no other connection.
void end_first_comer(int listener) {
  int socket = -1;
  while ((socket = ::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK)) < 0)
    std::this_thread::sleep_for(milliseconds(1));
  Connection connection(socket);
  ::close(listener);
  connection.queue(
      {FrameKind::end, 0, PayloadWriter().text("the disk is full").number(kPodExit, 1).take()});
  connection.flush();
}

TEST(Join, ReportsWhyThePreviousRunEndedIfNoneFollows) {
  const CapturedLog log;
  PodTimes times = quick_times();
  times.connect = milliseconds(300);
  PodOfThreads pod(2, times);
  const HostPort hub = parse_host_port("", pod.place(0).address);
  const auto host = std::async(std::launch::async, end_first_comer, listen_at(hub));
  EXPECT_THAT(error_of<SystemError>(
                  [&] { CoordinationService::connect(pod.place(1), {}, pod.options(1)); }),
              AllOf(HasSubstr("Connection refused"), HasSubstr("ended with: the disk is full")));
}

TEST(Join, KeepsAnEndMessageThatArrivesWithTheWelcome) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
  Connection server(ends[0]);
  PayloadWriter members;
  for (int rank = 0; rank < 2; ++rank) members.text("host").number(1, 4);
  for (const FrameKind kind : {FrameKind::hail, FrameKind::beat, FrameKind::welcome})
    server.queue(
        {kind, 0,
         kind == FrameKind::welcome ? members.take() : PayloadWriter().text("once").take()});
  server.queue({FrameKind::end, 0, PayloadWriter().text("a full disk").number(2, 1).take()});
  server.flush();
  const Joined joined = join_over(ends[1], hello_of({.address = "", .rank = 1, .size = 2}, {}), {});
  ASSERT_EQ(joined.frames.size(), 1u);
  EXPECT_EQ(joined.frames[0].kind, FrameKind::end);
  EXPECT_THAT(joined.frames[0].payload, HasSubstr("a full disk"));
}

TEST(Join, HostMayJoinLaterThanTheHeartbeatTimeout) {
  const CapturedLog log;
  PodTimes times = quick_times();
  times.silence = milliseconds(200);
  PodOfThreads pod(2, times);
  auto first = std::async(std::launch::async, [&] {
    return CoordinationService::connect(pod.place(0), {}, pod.options(0));
  });
  std::this_thread::sleep_for(4 * times.silence);
  const auto second = CoordinationService::connect(pod.place(1), {}, pod.options(1));
  EXPECT_TRUE(first.get());
}

TEST(Join, TimeoutNamesTheMissingHosts) {
  const CapturedLog log;
  PodTimes times = quick_times();
  times.connect = milliseconds(1000);
  times.say = milliseconds(200);
  PodOfThreads pod(4, times);
  const auto errors = pod.run([&](int rank) {
    if (rank < 2) CoordinationService::connect(pod.place(rank), {}, pod.options(rank));
  });
  EXPECT_THAT(errors[0], HasSubstr("pod: hosts 2, 3 of 4 have not joined within 1 s"));
  EXPECT_EQ(errors[1], errors[0]);
  EXPECT_THAT(log.text(), HasSubstr("for hosts 2, 3 of 4"));
}

TEST(Join, ReportsAnUnreachableRank0) {
  const CapturedLog log;
  PodTimes times = quick_times();
  times.connect = milliseconds(300);
  PodOfThreads pod(2, times);
  EXPECT_THAT(error_of<SystemError>(
                  [&] { CoordinationService::connect(pod.place(1), {}, pod.options(1)); }),
              AllOf(HasSubstr("has not reached host 0 at 127.0.0.1:"),
                    HasSubstr("Connection refused\n  hint: start the run on every host")));
}

TEST(Join, ReportsAProcessLostBeforeAllHaveJoined) {
  PodOfThreads pod(3);
  std::optional<Connection> connection;
  auto first = std::async(std::launch::async, [&] {
    return error_of<SystemError>(
        [&] { CoordinationService::connect(pod.place(0), {}, pod.options(0)); });
  });
  // A process that sends hello and dies.
  std::string why;
  const HostPort hub = parse_host_port("", pod.place(0).address);
  int socket = -1;
  while ((socket = try_connect(hub, why)) < 0) std::this_thread::sleep_for(milliseconds(5));
  connection.emplace(socket);
  connection->queue({FrameKind::hello, 0, encode(hello_of(pod.place(2), {}))});
  connection->flush();
  std::vector<Frame> frames;
  while (std::ranges::none_of(frames, [](const Frame& f) { return f.kind == FrameKind::beat; }))
    ASSERT_TRUE(connection->read(frames)) << connection->why();
  connection.reset();
  EXPECT_THAT(first.get(), AllOf(HasSubstr("pod: host 2 ("), HasSubstr("its connection closed")));
  EXPECT_EQ(pod.ends(0).at(0).exit_code, 76);
}

TEST(Join, IgnoresConnectionsThatDoNotSendFrames) {
  PodOfThreads pod(2);
  auto first = std::async(std::launch::async, [&] {
    return CoordinationService::connect(pod.place(0), {}, pod.options(0));
  });
  const HostPort hub = parse_host_port("", pod.place(0).address);
  const std::vector<std::string> noises{
      "GET / HTTP/1.1\r\nHost: x\r\n\r\n", std::string("\x09\0\0\0\x02", 5) + std::string(8, '\0'),
      std::string("\0\0\0\0\0", 5), std::string("\xff\xff\xff\x7f\x02", 5)};
  for (const std::string& noise : noises) {
    std::string why;
    int socket = -1;
    while ((socket = try_connect(hub, why)) < 0) std::this_thread::sleep_for(milliseconds(5));
    Connection connection(socket);
    connection.queue(std::make_shared<const std::string>(noise));
    connection.flush();
    std::vector<Frame> frames;
    while (connection.read(frames)) std::this_thread::sleep_for(milliseconds(5));  // closed
  }
  const auto second = CoordinationService::connect(pod.place(1), {}, pod.options(1));
  EXPECT_TRUE(first.get());
}

TEST(Join, IgnoresProxyVariables) {
  const ScopedVariable http("http_proxy", "http://127.0.0.1:1"),
      all("ALL_PROXY", "socks5://127.0.0.1:1");
  PodOfThreads pod(2);
  EXPECT_EQ(pod.connect().size(), 2u);
}

TEST(Join, RejectsAPortInUseAndInvalidRanks) {
  const int listener = listen_at({"127.0.0.1", 0});
  const std::string address = str("127.0.0.1:", port_of(listener));
  EXPECT_THAT(
      error_of<UsageError>([&] { CoordinationService::connect({address, 0, 2}, {}); }),
      AllOf(HasSubstr("pod: host 0 cannot listen at " + address + ": Address already in use"),
            HasSubstr("hint: stop the process that uses the port")));
  ::close(listener);
  EXPECT_THAT(
      error_of<UsageError>([&] { CoordinationService::connect({"192.0.2.1:1", 0, 2}, {}); }),
      HasSubstr("hint: name the machine of rank 0 in --hub"));
  EXPECT_THAT(error_of<UsageError>([&] { CoordinationService::connect({address, 2, 2}, {}); }),
              HasSubstr("rank 2 is not one of 0 to 1"));
}

TEST(Join, ParsesAddressesWithAndWithoutPort) {
  const auto read = [](const std::string& text) { return text_of(parse_host_port("--hub", text)); };
  EXPECT_EQ(read("10.0.0.2:9000"), "10.0.0.2:9000");
  EXPECT_EQ(read("t1v-w-0"), "t1v-w-0:8487");
  EXPECT_EQ(read("[fe80::1]:99"), "[fe80::1]:99");
  EXPECT_EQ(read("[::1]"), "[::1]:8487");
  for (const std::string wrong :
       {"", ":80", "a:b", "a:1:2", "a:70000", "http://a:1", "[::1", "a:", "[::1]80"})
    EXPECT_THAT(error_of<UsageError>([&] { read(wrong); }),
                HasSubstr("--hub: '" + wrong + "' is not HOST:PORT\n  hint: name"))
        << wrong;
}

}  // namespace
}  // namespace smelt::distributed
