#include "base/line_filter.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>

#include "base/error.h"
#include "base/plural.h"

namespace smelt {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostErrors = 2048;  // bytes of standard error that are kept
constexpr const char* kOneForEach = "it must write one line for each line that it reads";

struct PipeEnds {
  int reading, writing;
};

PipeEnds make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw_errno("make", "a pipe", errno);
  return {ends[0], ends[1]};
}

void make_nonblocking(int file) { ::fcntl(file, F_SETFL, ::fcntl(file, F_GETFL) | O_NONBLOCK); }

// Returns the environment of this process, with variables that make a Python program write in UTF-8
// and without buffering.
std::vector<char*> environment_with(std::array<std::string, 2>& settings) {
  std::vector<char*> out;
  for (char** variable = environ; *variable != nullptr; ++variable)
    if (std::ranges::none_of(settings, [&](const std::string& setting) {
          return std::string_view(*variable).starts_with(setting.substr(0, setting.find('=') + 1));
        }))
      out.push_back(*variable);
  for (std::string& setting : settings) out.push_back(setting.data());
  out.push_back(nullptr);
  return out;
}

// Starts the command in a separate process group, so that Ctrl-C does not end it before smelt has
// finished with it. Returns 0 or an errno.
int spawn_shell(const std::string& command, const std::array<int, 3>& files, ::pid_t& child) {
  ::posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  for (int i = 0; i < 3; ++i)
    ::posix_spawn_file_actions_adddup2(&actions, files[static_cast<std::size_t>(i)], i);
  ::posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  ::sigset_t none, usual;
  ::sigemptyset(&none);
  ::sigemptyset(&usual);
  for (const int signal : {SIGPIPE, SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&usual, signal);
  ::posix_spawnattr_setflags(
      &attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  ::posix_spawnattr_setsigdefault(&attributes, &usual);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  std::array<std::string, 2> settings{"PYTHONUNBUFFERED=1", "PYTHONUTF8=1"};
  const std::vector<char*> environment = environment_with(settings);
  std::string shell = "sh", flag = "-c", text = command;
  std::array<char*, 4> words{shell.data(), flag.data(), text.data(), nullptr};
  const int error =
      ::posix_spawn(&child, "/bin/sh", &actions, &attributes, words.data(), environment.data());
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  return error;
}

// Blocks SIGPIPE for this thread, so that write() returns EPIPE if the program has ended.
class NoPipeSignal {
 public:
  NoPipeSignal() {
    ::sigemptyset(&pipe_);
    ::sigaddset(&pipe_, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoPipeSignal() {
    const std::timespec now{};
    if (::sigismember(&before_, SIGPIPE) == 0)
      while (::sigtimedwait(&pipe_, nullptr, &now) == SIGPIPE) {
      }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoPipeSignal(const NoPipeSignal&) = delete;
  NoPipeSignal& operator=(const NoPipeSignal&) = delete;

 private:
  ::sigset_t pipe_{}, before_{};
};

}  // namespace

LineFilter::LineFilter(std::string command, Seconds silence)
    : command_(std::move(command)), silence_(silence) {
  const PipeEnds in = make_pipe(), out = make_pipe(), errors = make_pipe();
  ends_ = {in.writing, out.reading, errors.reading};
  const int error = spawn_shell(command_, {in.reading, out.writing, errors.writing}, child_);
  for (const int file : {in.reading, out.writing, errors.writing}) ::close(file);
  if (error != 0) {
    for (const End end : {kIn, kOut, kErrors}) close_end(end);
    throw_errno("start", "/bin/sh", error);
  }
  group_ = std::make_unique<ChildGroup>(child_);
  for (const int file : ends_) make_nonblocking(file);
}

LineFilter::~LineFilter() {
  for (const End end : {kIn, kOut, kErrors}) close_end(end);
  if (child_ <= 0) return;
  ::kill(-child_, SIGKILL);
  group_.reset();
  while (::waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

std::vector<std::string> LineFilter::filter_last(std::span<const std::string> lines) {
  is_last_ = true;
  return filter(lines);
}

std::vector<std::string> LineFilter::filter(std::span<const std::string> lines) {
  std::string input;
  for (const std::string& line : lines) (input += line) += '\n';
  exchange(input, lines.size());
  std::vector<std::string> out;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::size_t end = output_.find('\n', begin);
    out.push_back(output_.substr(begin, end - begin));
    begin = end + 1;
  }
  if (begin < output_.size()) throw_more(std::string_view(output_).substr(begin));
  passed_ += lines.size();
  output_.clear();
  line_ends_ = 0;
  return out;
}

void LineFilter::exchange(const std::string& input, std::size_t count) {
  const NoPipeSignal no_signal;
  std::size_t sent = 0;
  auto heard = Clock::now();  // time of the last output; standard error does not count
  while (line_ends_ < count || sent < input.size()) {
    std::array<::pollfd, 3> polled{{{sent < input.size() ? ends_[kIn] : -1, POLLOUT, 0},
                                    {ends_[kOut], POLLIN, 0},
                                    {ends_[kErrors], POLLIN, 0}}};
    const double left = Seconds(silence_ - (Clock::now() - heard)).count();
    if (left <= 0) throw_silent(count - line_ends_, count);
    const int ready = ::poll(polled.data(), polled.size(), static_cast<int>(left * 1e3) + 1);
    if (ready < 0 && errno == EINTR) continue;
    if (ready < 0) throw_errno("read", "a command's output", errno);
    if (polled[kErrors].revents != 0 && !read_some(kErrors, errors_)) close_end(kErrors);
    if (errors_.size() > kMostErrors) errors_.erase(0, errors_.size() - kMostErrors);
    const std::size_t before = output_.size();
    if (polled[kOut].revents != 0 && !read_some(kOut, output_)) throw_ended();
    if (output_.size() > before) heard = Clock::now();
    line_ends_ += static_cast<std::size_t>(
        std::count(output_.begin() + static_cast<std::ptrdiff_t>(before), output_.end(), '\n'));
    if (output_.size() > 64 * input.size() + (1 << 20)) throw_more(output_);
    if (polled[kIn].revents != 0) write_some(input, sent);
    if (is_last_ && sent == input.size()) close_end(kIn);
  }
}

void LineFilter::write_some(const std::string& input, std::size_t& sent) {
  const ::ssize_t size = ::write(ends_[kIn], input.data() + sent, input.size() - sent);
  if (size >= 0) sent += static_cast<std::size_t>(size);
  // EPIPE: the command has closed its input. Reading its output then throws a better error, with
  // its exit status and standard error.
  else if (errno == EPIPE)
    sent = input.size();
  else if (errno != EAGAIN && errno != EINTR)
    throw_errno("write to", command_, errno);
}

bool LineFilter::read_some(End end, std::string& to) {
  std::array<char, 1 << 16> buffer;
  const ::ssize_t size = ::read(ends_[end], buffer.data(), buffer.size());
  if (size > 0) to.append(buffer.data(), static_cast<std::size_t>(size));
  return size > 0 || (size < 0 && (errno == EAGAIN || errno == EINTR));
}

void LineFilter::close_end(End end) {
  if (ends_[end] >= 0) ::close(ends_[end]);
  ends_[end] = -1;
}

std::string LineFilter::last_errors() {
  const auto begin = Clock::now();
  while (ends_[kErrors] >= 0 && Clock::now() - begin < Seconds(0.2)) {
    ::pollfd polled{ends_[kErrors], POLLIN, 0};
    if (::poll(&polled, 1, 200) <= 0 || !read_some(kErrors, errors_)) break;
  }
  std::string_view said = errors_;
  said = said.substr(0, said.find_last_not_of(" \n\r") + 1);
  if (said.size() > 300) said.remove_prefix(said.size() - 300);
  return said.empty() ? "" : str(": ", said);
}

bool LineFilter::ends_within(Seconds limit) const {
  const auto begin = Clock::now();
  for (;;) {
    ::siginfo_t info{};
    // The process stays a zombie, so that its process group id is not reused.
    const int result =
        ::waitid(P_PID, static_cast<::id_t>(child_), &info, WEXITED | WNOHANG | WNOWAIT);
    if ((result < 0 && errno != EINTR) || info.si_pid != 0) return true;
    if (Clock::now() - begin > limit) return false;
    ::poll(nullptr, 0, 10);
  }
}

int LineFilter::stop() {
  constexpr Seconds kGrace{2};
  ::kill(-child_, SIGTERM);
  ends_within(kGrace);
  ::kill(-child_, SIGKILL);
  group_.reset();
  int status = 0;
  while (::waitpid(child_, &status, 0) < 0 && errno == EINTR) {
  }
  child_ = -1;
  return status;
}

void LineFilter::throw_more(std::string_view output) {
  throw UsageError(str("'", command_, "' wrote more lines than it was given: '",
                       shortened(output.substr(0, 400), 40), "'", last_errors()),
                   kOneForEach);
}

void LineFilter::throw_silent(std::size_t due, std::size_t count) {
  const std::string what = str("'", command_, "' wrote nothing for ", silence_.count(), " s while ",
                               counted(due, "line"), " of ", count, " were due", last_errors());
  if (passed_ > 0)
    throw SystemError(what,
                      "run the same command again to continue; if it fails again, try the program "
                      "with less text");
  throw UsageError(what, str(kOneForEach,
                             ", as soon as it has read it: python3 -u, sed -u, awk "
                             "with fflush(), or `stdbuf -oL COMMAND`"));
}

void LineFilter::throw_ended() {
  // The command has closed its output, so it is useless even if it still runs.
  const std::string said = last_errors();
  const bool ended = ends_within(Seconds(0.2));
  const int status = stop();
  const int code = ended && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  const std::string ending = !ended      ? "closed its output"
                             : code >= 0 ? str("ended (exit status ", code, ")")
                                         : str("ended (signal ", WTERMSIG(status), ")");
  const std::string what =
      str("'", command_, "' ", ending, " after ", counted(passed_ + line_ends_, "line"), said);
  constexpr int kShellKilled = 128 + SIGKILL;  // exit status of a shell whose program was killed
  if (ended && (code == kShellKilled || (code < 0 && WTERMSIG(status) == SIGKILL)))
    throw SystemError(what,
                      "another process killed it, perhaps because memory was short; run the same "
                      "command again to continue");
  throw UsageError(what, code == 127
                             ? str("install the program, or correct the command; relative paths "
                                   "are relative to the folder in which smelt is started")
                         : code == 0 ? str(kOneForEach, ", until its input ends")
                                     : str("try it in a shell: echo TEXT | ", command_));
}

}  // namespace smelt
