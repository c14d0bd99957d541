#include "cloud/ssh_servers.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "support/command.h"

namespace smelt::cloud {

std::string ssh_server_program() { return io::exists("/usr/sbin/sshd") ? "/usr/sbin/sshd" : ""; }

SshServers::SshServers(int count, Environment environment)
    : environment_(std::move(environment)), servers_(static_cast<std::size_t>(count)) {
  if (::geteuid() == 0) io::make_folders("/run/sshd");  // sshd started by root needs it
  io::write_file(dir_.file("authorized"), "");
  std::string config;
  for (int i = 0; i < count; ++i) {
    ports_.push_back(free_port());
    config += str("Host ", address(i), "\n  Port ", ports_.back(), "\n");
    make_key(i);
    start(i);
  }
  io::write_file(dir_.file("config"), config);
}

std::string SshServers::address(int worker) const { return str("127.0.0.", 11 + worker); }

void SshServers::make_key(int worker) const {
  const std::string file = dir_.file(str("host", worker));
  io::remove_file(file);
  const CommandOutput made = run_command("ssh-keygen -q -t ed25519 -N '' -f " + file);
  CHECK(made.status == 0, made.text);
}

void SshServers::start(int worker) {
  const auto i = static_cast<std::size_t>(worker);
  const std::string config = dir_.file(str("sshd", worker));
  io::write_file(
      config, str("ListenAddress 127.0.0.1:", ports_[i], "\nListenAddress ", address(worker), ":",
                  ports_[i], "\nHostKey ", dir_.file(str("host", worker)), "\nAuthorizedKeysFile ",
                  dir_.file("authorized"),
                  "\nUsePAM no\nPidFile none\nStrictModes no\nPasswordAuthentication no\n"
                  "KbdInteractiveAuthentication no\nPermitRootLogin prohibit-password\n"
                  "MaxStartups 200\nLogLevel ERROR\nSubsystem sftp internal-sftp\nSetEnv WORKER=",
                  worker, " ", environment_ ? environment_(worker) : "", "\n"));
  servers_[i] = std::make_unique<ServerProcess>(
      std::vector<std::string>{ssh_server_program(), "-D", "-e", "-f", config}, ports_[i],
      dir_.file(str("log", worker)));
}

void SshServers::restart_with_another_key(int worker) {
  stop(worker);
  make_key(worker);
  start(worker);
}

std::vector<std::pair<std::string, std::string>> SshServers::addresses() const {
  std::vector<std::pair<std::string, std::string>> out;
  for (std::size_t i = 0; i < servers_.size(); ++i)
    out.emplace_back(str("10.0.0.", i), address(static_cast<int>(i)));
  return out;
}

std::vector<std::map<std::string, std::string>> SshServers::host_keys() const {
  std::vector<std::map<std::string, std::string>> out;
  for (std::size_t i = 0; i < servers_.size(); ++i) {
    const std::string text = io::read_file(dir_.file(str("host", i, ".pub")));
    out.push_back({{std::string(split(text, ' ')[0]), std::string(split(text, ' ')[1])},
                   {"hostname", str("t1v-n-", i)}});
  }
  return out;
}

void SshServers::take(const Json& metadata) const {
  std::string keys;
  const std::string text = metadata.value("ssh-keys", "");
  for (const std::string_view line : split(text, '\n'))
    if (const auto colon = line.find(':'); colon != std::string_view::npos)
      keys += str(line.substr(colon + 1), "\n");
  io::write_file(dir_.file("authorized"), keys);
}

}  // namespace smelt::cloud
