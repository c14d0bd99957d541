#include "distributed/stand_in/pod_run.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/error.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "support/server_process.h"

namespace smelt::distributed {
namespace {

using Variables = std::vector<std::pair<std::string, std::string>>;

::pid_t started(std::vector<std::string> command, const std::string& log,
                const Variables& variables) {
  const ::pid_t pid = ::fork();
  CHECK(pid >= 0);
  if (pid > 0) return pid;
  const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  ::dup2(out, 1);
  ::dup2(out, 2);
  for (const auto& [name, value] : variables) ::setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> arguments;
  for (std::string& argument : command) arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  ::execvp(arguments[0], arguments.data());
  ::_exit(127);
}

bool accepts(const std::string& path) {
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ::sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  const bool connected =
      ::connect(socket, reinterpret_cast<const ::sockaddr*>(&address), sizeof address) == 0;
  ::close(socket);
  return connected;
}

}  // namespace

Pod::Pod(const PodSize& size, const std::vector<std::string>& options)
    : size_(size), processes_(static_cast<std::size_t>(size.processes), 0) {
  std::vector<std::string> command{SMELT_POD_SERVER, socket(), str(size.processes),
                                   str(size.devices_each)};
  command.insert(command.end(), options.begin(), options.end());
  const std::string log = dir_.file("server.log");
  server_ = started(command, log, {});
  for (int waited = 0; !accepts(socket()); ++waited) {
    CHECK(waited < 3000 && ::waitpid(server_, nullptr, WNOHANG) == 0, io::read_file(log));
    ::usleep(20000);
  }
}

Pod::~Pod() {
  for (const ::pid_t pid : processes_)
    if (pid > 0) {
      ::kill(pid, SIGKILL);
      ::waitpid(pid, nullptr, 0);
    }
  ::kill(server_, SIGKILL);
  ::waitpid(server_, nullptr, 0);
}

std::string Pod::log_of(int process) const { return dir_.file(str("process-", process, ".log")); }

void Pod::start(int process, const std::vector<std::string>& command) {
  ::pid_t& pid = processes_.at(static_cast<std::size_t>(process));
  CHECK(pid == 0, "process ", process, " runs");
  if (hub_.empty()) hub_ = str("127.0.0.1:", free_port());
  std::vector<std::string> words = command;
  for (std::string& word : words) {
    if (word == "{hub}") word = hub_;
    if (word == "{process}") word = str(process);
  }
  Variables all = variables(process);
  all.emplace_back("POD_HUB", hub_);
  pid = started(words, log_of(process), all);
}

std::vector<std::pair<std::string, std::string>> Pod::variables(int process) const {
  return {{"POD_SOCKET", socket()},
          {"POD_PROCESS", str(process)},
          {"POD_SIZE", str(size_.processes)},
          {"SMELT_CPU_PLUGIN", SMELT_POD_SHIM},
          {"SMELT_TPU_PLUGIN", SMELT_POD_SHIM}};
}

int Pod::wait(int process) {
  ::pid_t& pid = processes_.at(static_cast<std::size_t>(process));
  CHECK(pid > 0);
  int status = 0;
  CHECK(::waitpid(pid, &status, 0) == pid);
  pid = 0;
  if (std::ranges::all_of(processes_, [](::pid_t other) { return other == 0; })) hub_.clear();
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool Pod::is_running(int process) {
  const ::pid_t pid = processes_.at(static_cast<std::size_t>(process));
  ::siginfo_t info{};
  CHECK(pid > 0 &&
        ::waitid(P_PID, static_cast<::id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0);
  return info.si_pid == 0;
}

::pid_t Pod::pid(int process) const { return processes_.at(static_cast<std::size_t>(process)); }

void Pod::send(int process, int signal) {
  ::kill(processes_.at(static_cast<std::size_t>(process)), signal);
}

void Pod::send_to_devices(int signal) const { ::kill(server_, signal); }

std::string Pod::said(int process) const {
  const std::string log = log_of(process);
  return io::exists(log) ? io::read_file(log) : "";  // it may only just have been started
}

std::vector<int> Pod::run(const std::vector<std::string>& command) {
  for (int process = 0; process < size_.processes; ++process) start(process, command);
  std::vector<int> statuses;
  for (int process = 0; process < size_.processes; ++process) statuses.push_back(wait(process));
  return statuses;
}

}  // namespace smelt::distributed
