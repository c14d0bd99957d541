#include "base/run_program.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <initializer_list>
#include <memory>

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

int run(const std::vector<std::string>& words, std::initializer_list<Redirected> files) {
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
  if (error == ENOENT || error == EACCES) return 127;
  if (error != 0) throw_errno("start", words[0], error);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR) throw_errno("wait for", words[0], errno);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

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

}  // namespace smelt
