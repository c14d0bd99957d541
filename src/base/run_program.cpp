#include "base/run_program.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <initializer_list>
#include <memory>
#include <optional>

#include "base/error.h"

namespace smelt {

namespace {

using TemporaryFile = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

TemporaryFile temporary_file() {
  TemporaryFile out(std::tmpfile(), std::fclose);
  if (!out) throw_errno("make", "a temporary file", errno);
  return out;
}

struct Redirected {
  int from, to;
};

// Starts a program and returns its process id, or nullopt if the program does not exist or is not
// executable.
std::optional<::pid_t> start(const std::vector<std::string>& words,
                             std::initializer_list<Redirected> files) {
  CHECK(!words.empty());
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  ::posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  for (const auto& [from, to] : files) ::posix_spawn_file_actions_adddup2(&actions, from, to);
  ::pid_t child = 0;
  const int error =
      ::posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error == ENOENT || error == EACCES) return std::nullopt;
  if (error != 0) throw_errno("start", words[0], error);
  return child;
}

int wait_for(::pid_t child, const std::string& word) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR) throw_errno("wait for", word, errno);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int run(const std::vector<std::string>& words, std::initializer_list<Redirected> files) {
  const auto child = start(words, files);
  return child ? wait_for(*child, words[0]) : 127;
}

// The two ends of a pipe, which child processes do not inherit.
class Pipe {
 public:
  Pipe() {
    if (::pipe2(ends_.data(), O_CLOEXEC) != 0) throw_errno("make", "a pipe", errno);
  }
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  int reading() const { return ends_[0]; }
  int writing() const { return ends_[1]; }
  void close_reading() { close_end(0); }
  void close_writing() { close_end(1); }

 private:
  void close_end(std::size_t end) {
    if (ends_[end] >= 0) ::close(ends_[end]);
    ends_[end] = -1;
  }

  std::array<int, 2> ends_{-1, -1};
};

// Reads the standard output and standard error of a shell command from two pipes, until both have
// ended or `take` returns false.
class ShellReader {
 public:
  ShellReader(const Pipe& out, const Pipe& errors)
      : polled_{{{out.reading(), POLLIN, 0}, {errors.reading(), POLLIN, 0}}} {}

  void read(const std::function<bool(std::string_view)>& take) {
    while (polled_[0].fd >= 0 || polled_[1].fd >= 0) {
      if (::poll(polled_.data(), polled_.size(), -1) < 0) {
        if (errno != EINTR) throw_errno("read", "a command's output", errno);
        continue;
      }
      if (polled_[1].revents != 0) add_errors(piece_of(polled_[1]));
      if (polled_[0].revents == 0) continue;
      if (const auto piece = piece_of(polled_[0]); !piece.empty() && !take(piece)) return;
    }
  }
  const std::string& errors() const { return errors_; }

 private:
  // Reads the next bytes of a pipe. At its end, returns "" and stops polling it.
  std::string_view piece_of(::pollfd& polled) {
    ::ssize_t size = -1;
    while ((size = ::read(polled.fd, buffer_.data(), buffer_.size())) < 0 && errno == EINTR) {
    }
    if (size <= 0) polled.fd = -1;
    return {buffer_.data(), static_cast<std::size_t>(std::max<::ssize_t>(size, 0))};
  }
  void add_errors(std::string_view piece) {
    constexpr std::size_t kMost = 2048;
    std::fwrite(piece.data(), 1, piece.size(), stderr);
    errors_ += piece;
    if (errors_.size() > kMost) errors_.erase(0, errors_.size() - kMost);
  }

  std::array<::pollfd, 2> polled_;
  std::array<char, 1 << 16> buffer_{};
  std::string errors_;
};

}  // namespace

std::string shell_word(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

int run_program(const std::vector<std::string>& words) {
  return run(words, {{STDERR_FILENO, STDOUT_FILENO}});
}

ShellOutput run_shell(const std::string& command, const std::string& input) {
  const TemporaryFile in = temporary_file(), out = temporary_file();
  if (std::fwrite(input.data(), 1, input.size(), in.get()) != input.size() ||
      std::fflush(in.get()) != 0)
    throw_errno("write", "a temporary file", errno);
  std::rewind(in.get());
  ShellOutput result;
  result.status = run({"sh", "-c", command},
                      {{::fileno(in.get()), STDIN_FILENO}, {::fileno(out.get()), STDOUT_FILENO}});
  std::rewind(out.get());
  std::array<char, 1 << 16> piece;
  while (const std::size_t n = std::fread(piece.data(), 1, piece.size(), out.get()))
    result.text.append(piece.data(), n);
  return result;
}

ShellEnd stream_shell(const std::string& command,
                      const std::function<bool(std::string_view)>& take) {
  Pipe out, errors;
  const TemporaryFile nothing = temporary_file();
  const auto child = start({"sh", "-c", command}, {{::fileno(nothing.get()), STDIN_FILENO},
                                                   {out.writing(), STDOUT_FILENO},
                                                   {errors.writing(), STDERR_FILENO}});
  if (!child) return {.status = 127, .errors = "cannot run /bin/sh"};
  out.close_writing();
  errors.close_writing();
  const auto end_it = [&] {
    ::kill(*child, SIGTERM);
    out.close_reading();  // makes the programs that it started end with SIGPIPE
    errors.close_reading();
    return wait_for(*child, command);
  };
  ShellReader reader(out, errors);
  bool wanted = true;
  try {
    reader.read([&](std::string_view piece) { return wanted = take(piece); });
  } catch (...) {
    end_it();
    throw;
  }
  const int status = wanted ? wait_for(*child, command) : end_it();
  return {.status = status, .errors = reader.errors()};
}

}  // namespace smelt
