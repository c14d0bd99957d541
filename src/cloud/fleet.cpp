#include "cloud/fleet.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>

#include "base/clock.h"
#include "base/error.h"
#include "base/exit_codes.h"
#include "base/stop_signal.h"
#include "io/filesystem/descriptor.h"

namespace smelt::cloud {
namespace {

constexpr int kLookEvery = 50;        // milliseconds
constexpr int kMostPieces = 1 << 12;  // maximum reads from the pipes of a program that has ended
constexpr std::size_t kLongestLine = std::size_t{1} << 16;
constexpr int kTimedOut = kTimeLimitExit, kUnreached = kUnreachedExit;

struct Pipe {
  io::Descriptor read, write;
};

Pipe make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw_errno("make", "a pipe", errno);
  return {io::Descriptor(ends[0]), io::Descriptor(ends[1])};
}

// Returns whether a line is an ssh error from before the command started, so that a retry is safe.
bool is_unreached(const std::string& line) {
  static constexpr std::array kWords{"ssh: connect to host", "Permission denied (",
                                     "kex_exchange_identification", "Connection timed out during",
                                     "ssh: Could not resolve"};
  return std::ranges::any_of(
      kWords, [&](const char* words) { return line.find(words) != std::string::npos; });
}

// An output stream of a program. Passes it on in whole lines with a prefix, or unchanged.
class Lines {
 public:
  Lines(std::string prefix, bool cut, const std::function<void(const std::string&)>& put)
      : prefix_(std::move(prefix)), cut_(cut), put_(put) {}

  void add(std::string_view bytes) {
    if (!cut_) return put_(std::string(bytes));
    rest_ += bytes;
    std::size_t begin = 0;
    for (std::size_t end = 0; (end = rest_.find('\n', begin)) != std::string::npos; begin = end + 1)
      put_(str(prefix_, rest_.substr(begin, end - begin), "\n"));
    rest_.erase(0, begin);
    if (rest_.size() > kLongestLine) finish();
  }
  void finish() {
    if (!rest_.empty()) put_(str(prefix_, rest_, "\n"));
    rest_.clear();
  }

 private:
  std::string prefix_, rest_;
  bool cut_;
  const std::function<void(const std::string&)>& put_;
};

class Member {
 public:
  Member(const FleetProgram& program, const FleetRules& rules)
      : program_(program), rules_(rules), end_{program.worker, 0, ""}, next_(Clock::now()) {}

  bool is_running() const { return pid_ > 0; }
  bool is_done() const { return done_; }
  bool may_start() const { return !done_ && !is_running() && Clock::now() >= next_; }
  const FleetEnd& end() const { return end_; }

  void start();
  void give_up(int status) {
    if (is_running() || done_) return;
    end_.status = status;
    done_ = true;
  }
  void tell_to_end() {
    in_.reset();
    if (is_running() && !program_.reads_input) ::kill(-pid_, SIGTERM);
  }
  void kill() const {
    if (is_running()) ::kill(-pid_, SIGKILL);
  }
  // Adds the outputs that are open for reading.
  void add_to(std::vector<::pollfd>& all) const {
    for (const io::Descriptor* each : {&out_, &err_})
      if (each->is_open()) all.push_back({each->get(), POLLIN, 0});
  }
  // Reads a limited amount, so that a program with endless output does not block the others.
  void read(int pieces = 4) {
    drain(out_, pieces, [this](std::string_view bytes) {
      has_printed_ = true;
      out_lines_->add(bytes);
    });
    drain(err_, pieces, [this](std::string_view bytes) { err_lines_->add(bytes); });
  }
  // Checks whether the program has ended; after a timeout its status becomes kTimedOut.
  void look(bool timed_out, bool may_repeat);

 private:
  const std::function<void(const std::string&)>& errors() const {
    return program_.err ? program_.err : rules_.err;
  }
  template <class Take>
  static void drain(io::Descriptor& from, int pieces, const Take& take);

  const FleetProgram& program_;
  const FleetRules& rules_;
  FleetEnd end_;
  Clock::time_point next_;
  io::Descriptor in_, out_, err_;
  std::optional<Lines> out_lines_, err_lines_;
  std::function<void(const std::string&)> hold_;
  std::string held_;  // errors of ssh, printed only if it is not tried again
  ::pid_t pid_ = 0;
  int tries_ = 0;
  bool has_printed_ = false, done_ = false;
};

void Member::start() {
  Pipe in = make_pipe(), out = make_pipe(), err = make_pipe();
  std::vector<char*> words;
  for (const std::string& word : program_.words) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  ::posix_spawn_file_actions_t actions;
  ::posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawn_file_actions_adddup2(&actions, in.read.get(), STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, out.write.get(), STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, err.write.get(), STDERR_FILENO);
  // Runs the program in its own process group, so that Ctrl-C only reaches smelt, which then ends
  // all programs.
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  const int error = ::posix_spawnp(&pid_, words[0], &actions, &attributes, words.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  if (error != 0) {
    pid_ = 0;
    throw SystemError(str("start ", program_.words[0], ": ", std::strerror(error)),
                      "apt-get install openssh-client");
  }
  for (const io::Descriptor* each : {&out.read, &err.read})
    ::fcntl(each->get(), F_SETFL, O_NONBLOCK);
  in_ = std::move(in.write);
  out_ = std::move(out.read);
  err_ = std::move(err.read);
  const std::string prefix = rules_.prefixed ? str("[worker ", program_.worker, "] ") : "";
  hold_ = [this](const std::string& line) {
    if (is_unreached(line))
      held_ += line;
    else
      errors()(line);
  };
  out_lines_.emplace(prefix, rules_.prefixed, program_.out ? program_.out : rules_.out);
  err_lines_.emplace(prefix, true, hold_);
  held_.clear();
  has_printed_ = false;
  ++tries_;
}

template <class Take>
void Member::drain(io::Descriptor& from, int pieces, const Take& take) {
  std::array<char, 1 << 16> piece;
  for (int taken = 0; from.is_open() && taken < pieces; ++taken) {
    const ::ssize_t n = ::read(from.get(), piece.data(), piece.size());
    if (n > 0)
      take(std::string_view(piece.data(), static_cast<std::size_t>(n)));
    else if (n == 0 || (errno != EINTR && errno != EAGAIN))
      from.reset();
    else if (errno == EAGAIN)
      return;
  }
}

void Member::look(bool timed_out, bool may_repeat) {
  int status = 0;
  if (!is_running() || ::waitpid(pid_, &status, WNOHANG) != pid_) return;
  pid_ = 0;
  read(kMostPieces);
  out_lines_->finish();
  err_lines_->finish();
  for (io::Descriptor* each : {&in_, &out_, &err_}) each->reset();
  end_.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  const bool unreached = end_.status == kUnreached && !held_.empty() && !has_printed_;
  if (unreached && may_repeat && tries_ < rules_.tries) {
    next_ = Clock::now() + rules_.between;
    return;
  }
  if (!held_.empty()) errors()(held_);
  if (unreached) end_.why_not = std::string(trim(held_));
  if (timed_out) end_.status = kTimedOut;
  done_ = true;
}

class Fleet {
 public:
  Fleet(const std::vector<FleetProgram>& programs, const FleetRules& rules) : rules_(rules) {
    members_.reserve(programs.size());
    for (const FleetProgram& program : programs) members_.emplace_back(program, rules);
  }
  ~Fleet() {  // kills the others if one program could not be started
    for (Member& member : members_) {
      member.kill();
      while (member.is_running()) {
        ::usleep(1000);
        member.look(false, false);
      }
    }
  }

  std::vector<FleetEnd> run() {
    while (!std::ranges::all_of(members_, &Member::is_done)) step();
    if (StopSignal::raised())
      throw Stopped("cloud: stopped by a signal; all workers were asked to end");
    std::vector<FleetEnd> out;
    for (const Member& member : members_) out.push_back(member.end());
    return out;
  }

 private:
  void step() {
    auto running = std::ranges::count_if(members_, &Member::is_running);
    for (Member& member : members_)
      if (!ends_ && running < rules_.at_once && member.may_start()) {
        member.start();
        ++running;
      }
    std::vector<::pollfd> all;
    for (const Member& member : members_) member.add_to(all);
    ::poll(all.data(), all.size(), kLookEvery);
    timed_out_ =
        timed_out_ || (rules_.timeout.count() > 0 && Clock::now() - begin_ > rules_.timeout);
    if (!ends_ && (timed_out_ || StopSignal::raised())) tell_all_to_end();
    if (ends_ && Clock::now() > *ends_)
      for (const Member& member : members_) member.kill();
    for (Member& member : members_) {
      if (member.is_running()) member.read();
      member.look(timed_out_, !ends_);
      if (ends_) member.give_up(kTimedOut);
    }
  }

  void tell_all_to_end() {
    ends_ = Clock::now() + rules_.grace;
    for (Member& member : members_) member.tell_to_end();
  }

  const FleetRules& rules_;
  std::vector<Member> members_;
  Clock::time_point begin_ = Clock::now();
  std::optional<Clock::time_point> ends_;  // when the remaining programs are killed
  bool timed_out_ = false;
};

}  // namespace

std::vector<FleetEnd> run_fleet(const std::vector<FleetProgram>& programs,
                                const FleetRules& rules) {
  return Fleet(programs, rules).run();
}

int worst_status(const std::vector<FleetEnd>& ends) {
  int worst = 0;
  for (const FleetEnd& end : ends) worst = std::max(worst, end.status);
  return worst;
}

}  // namespace smelt::cloud
