#include "cli/cloud/worker_verbs.h"

#include <unistd.h>

#include <cerrno>
#include <iostream>
#include <optional>

#include "base/duration.h"
#include "base/error.h"
#include "base/exit_status.h"
#include "base/run_program.h"
#include "base/stop_signal.h"
#include "cloud/machines.h"
#include "cloud/ssh.h"
#include "cloud/whoami.h"
#include "io/filesystem/folder.h"

namespace smelt::cli {
namespace {

// Splits "me@bert" into user and name; the default user is the local one.
std::pair<std::string, std::string> user_and_name(const std::string& text) {
  const std::size_t at = text.find('@');
  const std::string user = at == std::string::npos ? cloud::local_user() : text.substr(0, at);
  cloud::require_user(user);
  return {user, at == std::string::npos ? text : text.substr(at + 1)};
}

cloud::SshAccess access_to(const WorkerOptions& o, const std::string& target) {
  const auto [user, name] = user_and_name(target);
  cloud::GoogleApi api{cloud::TokenSource(io::google_credentials())};
  const std::string project = cloud::project_of(o.project, api);
  cloud::TpuApi tpu(api, project);
  const cloud::Found found = cloud::find_machine(tpu, o.zone, name);
  if (!found.node)
    throw UsageError(str("cloud: ", name, " is in the queue, ", found.queued->state),
                     str("smelt cloud status ", name, " --wait"));
  const cloud::Patience patience{&cloud::wait_or_stop, [](const std::string&) {}};
  return cloud::open_ssh(
      tpu, project, *found.node,
      {user, o.workers, "", o.config, o.options, o.internal_ip, o.dry_run, o.flags}, patience);
}

cloud::FleetRules rules_of(const WorkerOptions& o, const cloud::SshAccess& access) {
  cloud::FleetRules rules;
  if (!o.timeout.empty()) rules.timeout = parse_duration("--timeout", o.timeout);
  // A new key takes up to a minute to reach the worker; gcloud retries as long.
  if (access.key_is_new) rules.tries = 12;
  rules.prefixed = access.workers.size() > 1;
  rules.out = [](const std::string& text) { std::cout << text << std::flush; };
  rules.err = [](const std::string& text) { std::cerr << text << std::flush; };
  return rules;
}

void show(const std::vector<cloud::FleetProgram>& programs) {
  for (const cloud::FleetProgram& program : programs) {
    std::vector<std::string> words;
    for (const std::string& word : program.words) words.push_back(shell_word(word));
    std::cout << join(words, " ") << "\n";
  }
}

void run_all(const WorkerOptions& o, const cloud::SshAccess& access,
             const std::vector<cloud::FleetProgram>& programs) {
  if (o.dry_run) return show(programs);
  const std::vector<cloud::FleetEnd> ends = cloud::run_fleet(programs, rules_of(o, access));
  for (const cloud::FleetEnd& end : ends)
    if (!end.why_not.empty())
      std::cerr << "error: worker " << end.worker << " cannot be reached\n";
    else if (end.status != 0 && ends.size() > 1)
      std::cerr << "worker " << end.worker << " ended with status " << end.status << "\n";
  if (const int status = cloud::worst_status(ends); status != 0) throw ExitStatus(status);
}

// Replaces this process by ssh, with its terminal.
[[noreturn]] void become(const std::vector<std::string>& words) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  std::cout << std::flush;
  ::execvp(arguments[0], arguments.data());
  throw_errno("start", words[0], errno);
}

struct RemotePart {
  std::string target, path;
};

// Parses "NAME:path"; if a '/' precedes the ':', the path is local.
std::optional<RemotePart> remote_part(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos || colon == 0 || text.find('/') < colon) return std::nullopt;
  return RemotePart{text.substr(0, colon), text.substr(colon + 1)};
}

// Returns the machine of a copy. Throws UsageError unless exactly one side is on a machine.
RemotePart machine_of(const WorkerOptions& o) {
  const auto to = remote_part(o.to);
  std::optional<RemotePart> machine = to;
  for (const std::string& path : o.from) {
    const auto from = remote_part(path);
    const bool fits = to.has_value() != from.has_value();
    if (!fits || (from && machine && from->target != machine->target))
      throw UsageError(str("cp: from ", path, " to ", o.to,
                           ": exactly one side must be on a machine (NAME:PATH)"),
                       "for example: smelt cloud cp text.txt bert-1:text.txt");
    if (from) machine = from;
  }
  return *machine;
}

cloud::FleetProgram copy_of(const WorkerOptions& o, const cloud::SshAccess& access,
                            const cloud::SshWorker& worker) {
  if (const auto to = remote_part(o.to))
    return {worker.index,
            cloud::scp_words(access, worker, o.from, cloud::remote_path(access, worker, to->path)),
            false};
  std::vector<std::string> from;
  for (const std::string& path : o.from)
    from.push_back(cloud::remote_path(access, worker, remote_part(path)->path));
  if (access.workers.size() == 1)
    return {worker.index, cloud::scp_words(access, worker, from, o.to), false};
  const std::string folder = str(o.to, "/worker-", worker.index);
  if (!o.dry_run) io::make_folders(folder);
  return {worker.index, cloud::scp_words(access, worker, from, folder), false};
}

constexpr const char* kCommandNotice =
    "\nstopping the command on the workers; a second signal ends at once\n";

}  // namespace

void run_on_workers(const WorkerOptions& o) {
  std::optional<StopSignal> signal(kCommandNotice);
  if (o.command.empty() && !o.timeout.empty())
    throw UsageError("--timeout: needs --command", "add --command, or remove --timeout");
  if (!o.flags.empty() && !o.flags.front().starts_with("-"))
    throw UsageError(str("ssh: '", o.flags.front(), "' is not an ssh flag"),
                     str("use --command ", shell_word(join(o.flags, " "))));
  const cloud::SshAccess access = access_to(o, o.name);
  if (o.command.empty()) {
    if (access.workers.size() > 1)
      throw UsageError(str("--worker ", o.workers, ": a shell needs one worker"),
                       "name one worker, or add --command 'COMMAND'");
    const auto words = cloud::ssh_words(access, access.workers.front(), "");
    if (o.dry_run) return show({{0, words}});
    signal.reset();
    become(words);
  }
  std::vector<cloud::FleetProgram> programs;
  for (const cloud::SshWorker& worker : access.workers)
    programs.push_back(
        {worker.index, cloud::ssh_words(access, worker, cloud::guarded_command(o.command))});
  try {
    run_all(o, access, programs);
  } catch (const Stopped& stopped) {  // a remote command that a signal ended
    std::cerr << stopped.what() << std::endl;
    throw ExitStatus(128 + StopSignal::number());
  }
}

void copy_to_or_from_workers(const WorkerOptions& o) {
  const StopSignal signal(kCommandNotice);
  const cloud::SshAccess access = access_to(o, machine_of(o).target);
  std::vector<cloud::FleetProgram> programs;
  for (const cloud::SshWorker& worker : access.workers)
    programs.push_back(copy_of(o, access, worker));
  run_all(o, access, programs);
}

}  // namespace smelt::cli
