#include "cloud/job_shell.h"

#include <charconv>

#include "base/error.h"
#include "base/run_program.h"
#include "cloud/credential_file.h"
#include "cloud/file_hash.h"
#include "cloud/remote_job.h"
#include "store/folder.h"
#include "store/path.h"

namespace smelt {
namespace {

constexpr std::chrono::minutes kToBring(30);

std::string last_line(const std::string& text) {
  const std::string whole(trim(text));
  return whole.substr(whole.rfind('\n') + 1);
}

// "running 120" and "ended 2 120" of the first line; the rest is the log.
JobWorkers::Look parse_look(const std::string& text, std::uint64_t from) {
  using State = JobWorkers::Look::State;
  const std::size_t end = text.find('\n');
  const std::string line = text.substr(0, end);
  const auto words = split(line, ' ');
  JobWorkers::Look out;
  if (words[0] == "running") out.state = State::running;
  if (words[0] == "ended" && words.size() > 2) {
    out.state = State::ended;
    std::from_chars(words[1].data(), words[1].data() + words[1].size(), out.status);
  }
  if (end == std::string::npos || (out.state == State::none && words[0] != "none"))
    throw SystemError(str("the worker's answer is none of a job's: ", line));
  out.log = text.substr(end + 1);
  out.log_end = from + out.log.size();
  return out;
}

}  // namespace

SshAccess& JobShell::access(const TpuNode& node) {
  const std::string which = str(node.zone, "/", node.name, "/", node.create_time);
  if (access_ && node_ == which) return *access_;
  const Patience patience{&wait_or_stop, [](const std::string&) {}, std::chrono::minutes(2)};
  access_ = open_ssh(tools_.tpu, spec_.project, node, tools_.ssh, patience);
  node_ = which;
  return *access_;
}

JobShell::Ran JobShell::run(const TpuNode& node, const std::vector<std::string>& words,
                            bool reads_input, std::chrono::seconds at_most) {
  Ran ran;
  FleetRules rules;
  rules.timeout = at_most;
  rules.prefixed = false;
  rules.tries = access_->key_is_new ? 12 : 2;
  rules.out = [&](const std::string& text) { ran.out += text; };
  rules.err = [&](const std::string& text) { ran.err += text; };
  const FleetEnd end = run_fleet({{0, words, reads_input}}, rules).front();
  ran.status = end.status;
  if (end.status == 255 || end.status == 124) {
    access_.reset();  // its address or key may be another by now
    const std::string why = end.why_not.empty() ? last_line(ran.err) : end.why_not;
    throw SystemError(str(node.name, " in ", node.zone,
                          " is not reached: ", end.status == 124 ? "no answer in time" : why));
  }
  access_->key_is_new = false;
  return ran;
}

JobShell::Ran JobShell::shell(const TpuNode& node, const std::string& command,
                              std::chrono::seconds at_most) {
  const SshAccess& there = access(node);
  return run(node, ssh_words(there, there.workers.front(), "sh -c " + shell_word(command)), true,
             at_most);
}

std::string staged_package(const JobSpec& spec) {
  return join_path(spec.folder, "input/package.tar.zst");
}

std::string JobShell::package_folder() const {
  return "$HOME/.smelt-package/" + spec_.package_sha256.substr(0, 16);
}

// The one that the job was begun with; from the bucket where that is another machine's.
std::string JobShell::local_package() {
  if (!package_.empty()) return package_;
  if (exists(spec_.package) && file_sha256(spec_.package) == spec_.package_sha256)
    return package_ = spec_.package;
  const std::string folder = environment("TMPDIR").empty() ? "/tmp" : environment("TMPDIR");
  const std::string file = join_path(folder, str("smelt-", spec_.package_sha256, ".tar.zst"));
  if (!exists(file) || file_sha256(file) != spec_.package_sha256)
    copy_file(staged_package(spec_), file);
  if (file_sha256(file) != spec_.package_sha256)
    throw UsageError(str(staged_package(spec_), ": it is not the job's package any more"),
                     "give the command of smelt cloud run again, with --package");
  return package_ = file;
}

// Aside, then in its place: what is there is whole.
void JobShell::bring_package(const TpuNode& node) {
  const std::string folder = package_folder();
  if (shell(node, str("test -x \"", folder, "/smelt/bin/smelt\"")).status == 0) return;
  tools_.tell(str("bringing ", path_name(spec_.package), " to ", node.name));
  const Ran made = shell(node, str("rm -rf \"", folder, ".new\"; mkdir -p -m 700 \"", folder,
                                   ".new\" && cd \"", folder, ".new\" && pwd"));
  if (made.status != 0) throw SystemError(str(node.name, ": ", last_line(made.err)));
  const SshAccess& there = access(node);
  const std::string to = str(trim(made.out), "/package.tar.zst");
  const auto words = scp_words(there, there.workers.front(), {local_package()},
                               remote_path(there, there.workers.front(), to));
  if (const Ran sent = run(node, words, false, kToBring); sent.status != 0)
    throw SystemError(str(node.name, ": the package was not copied: ", last_line(sent.err)));
  const Ran unpacked = shell(
      node,
      str("cd \"", folder, ".new\" && echo '", spec_.package_sha256,
          "  package.tar.zst' | sha256sum -c --quiet - && "
          "{ command -v zstd >/dev/null || sudo -n apt-get install -y -qq zstd >/dev/null; } && "
          "tar --zstd -xf package.tar.zst && rm package.tar.zst && test -x smelt/bin/smelt && cd "
          ".. "
          "&& rm -rf \"",
          folder, "\" && mv \"", folder, ".new\" \"", folder, "\""),
      kToBring);
  if (unpacked.status != 0)
    throw SystemError(str(node.name, ": the package was not unpacked: ", last_line(unpacked.err)));
}

void JobShell::install(const TpuNode& node, double seconds_left) {
  (void)look(node, seconds_left, 0);
  const std::string guard = guard_script(spec_, node.zone, seconds_left, tools_.guard);
  if (const Ran ran = shell(node, guard_command(guard)); ran.status != 0)
    throw SystemError(str(node.name, ": the guard does not start: ", last_line(ran.err)));
  bring_package(node);
  if (spec_.setup.empty()) return;
  const Ran ran =
      shell(node, str("\"", package_folder(), "/smelt/bin/smelt\" setup ", spec_.setup), kToBring);
  if (ran.status != 0)
    throw SystemError(str(node.name, ": smelt setup ", spec_.setup, ": ", last_line(ran.err)));
}

void JobShell::start(const TpuNode& node, const std::string& command) {
  const std::string whole =
      str("export PATH=\"", package_folder(), "/smelt/bin:$PATH\"\n", command);
  const Ran ran = shell(node, start_job(whole));
  constexpr int kRunsAlready = 75;
  if (ran.status != 0 && ran.status != kRunsAlready)
    throw SystemError(str(node.name, ": the command does not start: ", last_line(ran.err)));
}

JobWorkers::Look JobShell::look(const TpuNode& node, double seconds_left, std::uint64_t log_from) {
  const Ran ran = shell(node, look_command(seconds_left, log_from));
  if (ran.status != 0) throw SystemError(str(node.name, ": ", last_line(ran.err)));
  return parse_look(ran.out, log_from);
}

void JobShell::stop(const TpuNode& node) {
  if (const Ran ran = shell(node, end_command()); ran.status != 0)
    throw SystemError(str(node.name, ": ", last_line(ran.err)));
}

}  // namespace smelt
