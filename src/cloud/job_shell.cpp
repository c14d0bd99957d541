#include "cloud/job_shell.h"

#include <stdlib.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <map>

#include "base/error.h"
#include "base/exit_codes.h"
#include "base/run_program.h"
#include "cloud/file_hash.h"
#include "cloud/machine_calls.h"
#include "cloud/remote_job.h"
#include "io/credentials/credential_file.h"
#include "io/credentials/json_text.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"

namespace smelt::cloud {
namespace {

constexpr std::chrono::minutes kToBring(30);
constexpr int kNotReached = kUnreachedExit, kNoAnswer = kTimeLimitExit;
constexpr const char* kPackage = "package.tar.zst";

std::string last_line(const std::string& text) {
  const std::string whole(trim(text));
  return whole.substr(whole.rfind('\n') + 1);
}

// Parses the output of look_command(): a first line such as "running 120" or "ended 2 120", then
// the log.
JobWorkers::Look parse_look(const std::string& text) {
  using State = JobWorkers::Look::State;
  const std::size_t end = text.find('\n');
  const std::string line = text.substr(0, end);
  const auto words = split(line, ' ');
  JobWorkers::Look out;
  if (words[0] == "running") out.state = State::running;
  if (words[0] == "ended" && words.size() > 2) {
    out.state = State::ended;
    out.status = 137;  // the default if no status could be stored, for example on a full disk
    std::from_chars(words[1].data(), words[1].data() + words[1].size(), out.status);
  }
  if (end == std::string::npos || (out.state == State::none && words[0] != "none"))
    throw SystemError(str("unexpected state of the job on the worker: ", line));
  out.log = text.substr(end + 1);
  return out;
}

// Drops an incomplete last line, so that lines of several workers are not mixed.
void cut_to_lines(JobWorkers::Look& look) {
  constexpr std::size_t kLongestLine = 1 << 16;
  const std::size_t end = look.log.rfind('\n');
  if (look.state != JobWorkers::Look::State::running) return;
  if (end != std::string::npos || look.log.size() < kLongestLine) look.log.resize(end + 1);
}

std::string with_worker(int worker, const std::string& log) {
  std::string out;
  const std::string_view lines = std::string_view(log).substr(0, log.size() - log.ends_with('\n'));
  if (log.empty()) return out;
  for (const std::string_view line : split(lines, '\n'))
    out += str("[worker ", worker, "] ", line, "\n");
  return out;
}

// Merges the state of one worker into `all`. The state `none` takes precedence, because that worker
// needs a command, and then `running`. The lowest nonzero exit status takes precedence, because one
// failed worker makes the others end with a higher one (76, or 128 and more for a signal). Status 2
// takes precedence over all others, because a restart does not help.
void join_state(JobWorkers::Look& all, const JobWorkers::Look& one, bool is_first) {
  using State = JobWorkers::Look::State;
  all.state = is_first ? one.state : std::min(all.state, one.state);
  if (one.state != State::ended || one.status == 0 || all.status == kUserError) return;
  const bool comes_first = all.status == 0 || one.status == kUserError;
  all.status = comes_first ? one.status : std::min(all.status, one.status);
}

std::chrono::seconds time_of(const JobWorkers::Part& part) {
  return std::chrono::seconds(std::max(1LL, static_cast<long long>(part.at_most)));
}

// Returns a command that installs an Ubuntu package. It waits for automatic updates, which a new
// machine may run.
std::string install_package(const std::string& name) {
  const std::string apt = "sudo -n apt-get -o DPkg::Lock::Timeout=300 -qq ";
  return str("{ ", apt, "update && ", apt, "install -y ", name, "; }");
}

std::uint64_t number_at(const std::vector<std::uint64_t>& numbers, int i) {
  const auto at = static_cast<std::size_t>(i);
  return at < numbers.size() ? numbers[at] : 0;
}

}  // namespace

PrivateFolder::PrivateFolder()
    : path_(io::join_path(io::environment("TMPDIR").empty() ? "/tmp" : io::environment("TMPDIR"),
                          "smelt-XXXXXX")) {
  if (::mkdtemp(path_.data()) == nullptr) throw_errno("make folder", path_, errno);
}

PrivateFolder::~PrivateFolder() {
  try {
    io::remove_tree(path_);
  } catch (const Error&) {  // a leftover folder does no harm
  }
}

JobShell::JobShell(JobSpec spec, ShellTools tools)
    : spec_(std::move(spec)), tools_(std::move(tools)) {
  tools_.ssh.workers = "all";
}

SshAccess& JobShell::access(const TpuNode& node) {
  const std::string which = str(node.zone, "/", node.name, "/", node.create_time);
  if (access_ && node_ == which) return *access_;
  const Patience patience{&wait_or_stop, [](const std::string&) {}, std::chrono::minutes(2)};
  access_ = open_ssh(tools_.tpu, spec_.project, node, tools_.ssh, patience);
  node_ = which;
  return *access_;
}

std::string JobShell::name_of(const TpuNode& node, int worker) const {
  return node.addresses.size() > 1 ? str(node.name, ", worker ", worker) : node.name;
}

std::vector<JobShell::Ran> JobShell::run(const TpuNode& node, const Workers& workers,
                                         const WordsOf& words, bool reads_input,
                                         std::chrono::seconds at_most) {
  std::vector<Ran> all(workers.size());
  std::vector<FleetProgram> programs;
  for (std::size_t i = 0; i < workers.size(); ++i) {
    Ran& ran = all[i];
    ran.worker = workers[i].index;
    programs.push_back({ran.worker, words(workers[i]), reads_input,
                        [&ran](const std::string& text) { ran.out += text; },
                        [&ran](const std::string& text) { ran.err += text; }});
  }
  FleetRules rules;
  rules.timeout = at_most;
  rules.grace = tools_.grace;
  rules.between = tools_.between;
  rules.prefixed = false;
  rules.tries = access_->key_is_new ? 12 : 2;
  const auto ends = run_fleet(programs, rules);
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const FleetEnd& end = ends[i];
    all[i].status = end.status;
    if (end.status != kNotReached && end.status != kNoAnswer) continue;
    access_.reset();  // its address or key may have changed
    const std::string why = end.why_not.empty() ? last_line(all[i].err) : end.why_not;
    throw SystemError(str(name_of(node, end.worker), " in ", node.zone, " cannot be reached: ",
                          end.status == kNoAnswer ? "no response in time" : why));
  }
  access_->key_is_new = false;
  return all;
}

std::vector<JobShell::Ran> JobShell::shell(const TpuNode& node, const Workers& workers,
                                           const CommandOf& command, std::chrono::seconds at_most) {
  const SshAccess& there = access(node);
  const auto words = [&](const SshWorker& worker) {
    return ssh_words(there, worker, "sh -c " + shell_word(command(worker)));
  };
  return run(node, workers, words, true, at_most);
}

std::vector<JobShell::Ran> JobShell::shell(const TpuNode& node, const Workers& workers,
                                           const std::string& command,
                                           std::chrono::seconds at_most) {
  return shell(node, workers, [&](const SshWorker&) { return command; }, at_most);
}

void JobShell::require(const std::vector<Ran>& ran, const TpuNode& node, const std::string& what,
                       int also_good) const {
  for (const Ran& each : ran)
    if (each.status != 0 && each.status != also_good)
      throw SystemError(str(name_of(node, each.worker), ": ", what, last_line(each.err)));
}

std::string staged_package(const JobSpec& spec) {
  return io::join_path(spec.folder, str("input/", kPackage));
}

std::string JobShell::package_folder() const {
  return "$HOME/.smelt-package/" + spec_.package_sha256.substr(0, 16);
}

// Returns a local path of the job's package; downloads it from the bucket if the job was started on
// another computer.
std::string JobShell::local_package() {
  if (!package_.empty()) return package_;
  if (io::exists(spec_.package) && file_sha256(spec_.package) == spec_.package_sha256)
    return package_ = spec_.package;
  fetched_ = std::make_unique<PrivateFolder>();
  const std::string file = io::join_path(fetched_->path(), kPackage);
  io::copy_file(staged_package(spec_), file);
  if (file_sha256(file) != spec_.package_sha256)
    throw UsageError(str(staged_package(spec_), ": the package was replaced after the job started"),
                     "give the command of smelt cloud run again, with --package");
  return package_ = file;
}

// Returns the limits of the next part of the installation and moves the machine's deadline.
JobWorkers::Part JobShell::next_part(const TpuNode& node) {
  const Part part = next_(std::chrono::duration<double>(kToBring).count());
  (void)look(node, part.seconds_left, {});
  return part;
}

// Lets each worker download the package from the bucket. Returns the workers that failed.
JobShell::Workers JobShell::fetch_package(const TpuNode& node, const Workers& bare) {
  const std::string there = staged_package(spec_);
  const std::string fetch =
      str("cd \"", package_folder(), ".new\" && { ",
          fetch_command(there, tools_.guard.storage, kPackage, spec_.package_sha256), "}");
  const auto fetched = shell(node, bare, fetch, time_of(next_part(node)));
  Workers without;
  for (std::size_t i = 0; i < bare.size(); ++i) {
    if (fetched[i].status == 0) continue;
    without.push_back(bare[i]);
    tools_.tell(str(name_of(node, fetched[i].worker), " cannot download ", there, ": ",
                    last_line(fetched[i].err), "; copying it from here"));
  }
  return without;
}

void JobShell::copy_package(const TpuNode& node, const Workers& bare) {
  const auto where = shell(node, bare, str("cd \"", package_folder(), ".new\" && pwd"));
  require(where, node, "");
  std::map<int, std::string> places;
  for (const Ran& each : where) places[each.worker] = str(trim(each.out), "/", kPackage);
  const SshAccess& there = access(node);
  const std::string file = local_package();
  const auto at_most = time_of(next_part(node));
  const auto words = [&](const SshWorker& worker) {
    return scp_words(there, worker, {file}, remote_path(there, worker, places.at(worker.index)));
  };
  require(run(node, bare, words, false, at_most), node, "cannot copy the package: ");
  if (file == spec_.package) return;
  fetched_.reset();
  package_.clear();
}

// Installs the package on workers without it. Unpacks to a temporary folder and renames it, so that
// an existing folder is complete.
void JobShell::bring_package(const TpuNode& node) {
  const std::string folder = package_folder();
  const Workers all = access(node).workers;
  Workers bare;
  const auto looked = shell(node, all, str("test -x \"", folder, "/smelt/bin/smelt\""));
  for (std::size_t i = 0; i < all.size(); ++i)
    if (looked[i].status != 0) bare.push_back(all[i]);
  if (bare.empty()) return;
  tools_.tell(str("copying ", io::path_name(spec_.package), " to ", node.name,
                  all.size() > 1 ? str(", ", bare.size(), " of its workers") : ""));
  const std::string make = str("rm -rf \"", folder, ".new\"; mkdir -p -m 700 \"", folder, ".new\"");
  require(shell(node, bare, make), node, "");
  if (const Workers without = fetch_package(node, bare); !without.empty())
    copy_package(node, without);
  const std::string unpack =
      str("cd \"", folder, ".new\" && echo '", spec_.package_sha256, "  ", kPackage,
          "' | sha256sum -c --quiet - && "
          "{ command -v zstd >/dev/null || ",
          install_package("zstd"),
          " >/dev/null; } && "
          "tar --zstd -xf ",
          kPackage, " && rm ", kPackage, " && test -x smelt/bin/smelt && cd .. && rm -rf \"",
          folder, "\" && mv \"", folder, ".new\" \"", folder, "\"");
  require(shell(node, bare, unpack, time_of(next_part(node))), node, "cannot unpack the package: ");
}

void JobShell::install(const TpuNode& node, const NextPart& next) {
  next_ = next;
  const double seconds = next_part(node).seconds_left;
  const std::string guard = guard_script(spec_, node.zone, seconds, tools_.guard);
  const Workers all = access(node).workers;
  require(shell(node, all, guard_command(guard)), node, "cannot start the guard: ");
  bring_package(node);
  if (spec_.setup.empty()) return;
  // Ubuntu's python3 lacks the modules for virtual environments.
  const std::string setup =
      str("python3 -c 'import venv, ensurepip' 2>/dev/null || ", install_package("python3-venv"),
          " >/dev/null\n\"", package_folder(), "/smelt/bin/smelt\" setup ", spec_.setup);
  require(shell(node, all, setup, time_of(next_part(node))), node,
          str("smelt setup ", spec_.setup, ": "));
}

// Asks only the first worker, because all workers have the same service account.
std::optional<bool> JobShell::may_delete_itself(const TpuNode& node) {
  const Workers one(1, access(node).workers.front());
  const auto asked = shell(node, one, ask_rights_command(spec_.project, tools_.guard.projects));
  const auto answer = Json::parse_or_discard(asked.front().out);
  if (asked.front().status != 0 || !answer.is_object()) return std::nullopt;
  return !io::array_in(answer, "permissions").empty();
}

// If the command already runs on a worker, because an earlier start reached only some of them, it
// continues there.
void JobShell::start(const TpuNode& node, const std::string& command) {
  constexpr int kRunsAlready = 75;
  const std::string whole =
      str("export PATH=\"", package_folder(), "/smelt/bin:$PATH\"\n", command);
  failed_since_.reset();
  require(shell(node, access(node).workers, start_job(whole)), node,
          "cannot start the command: ", kRunsAlready);
}

void JobShell::end_stragglers(const TpuNode& node, const Look& look, const Workers& running) {
  constexpr int kEndSeconds = 60;  // the same as in guard_script() (cloud/job_guard.h)
  const bool is_half = look.state == Look::State::running && look.status != 0;
  if (!is_half) return failed_since_.reset();
  if (!failed_since_) failed_since_ = Clock::now();
  if (seconds_since(*failed_since_) < tools_.stragglers) return;
  tools_.tell(str(node.name, ": ", running.size(), " of its workers did not end; stopping them"));
  require(shell(node, running, stop_job(kEndSeconds)), node, "");
}

JobWorkers::Look JobShell::look(const TpuNode& node, double seconds_left,
                                const std::vector<std::uint64_t>& log_from) {
  const Workers workers = access(node).workers;
  const auto ran = shell(node, workers, [&](const SshWorker& worker) {
    return look_command(seconds_left, number_at(log_from, worker.index));
  });
  require(ran, node, "");
  Look all;
  Workers running;
  for (std::size_t i = 0; i < ran.size(); ++i) {
    Look one = parse_look(ran[i].out);
    if (workers.size() > 1) cut_to_lines(one);
    const int worker = ran[i].worker;
    all.log_end.push_back(number_at(log_from, worker) + one.log.size());
    all.log += workers.size() > 1 ? with_worker(worker, one.log) : one.log;
    join_state(all, one, i == 0);
    if (one.state == Look::State::running) running.push_back(workers[i]);
  }
  end_stragglers(node, all, running);
  return all;
}

void JobShell::stop(const TpuNode& node) {
  require(shell(node, access(node).workers, end_command()), node, "");
}

void JobShell::keep_log(const TpuNode& node) {
  const auto keep = [&](const SshWorker& worker) {
    return keep_log_command(spec_, tools_.guard.storage, worker.index);
  };
  require(shell(node, access(node).workers, keep), node, "cannot copy the log to the bucket: ");
}

}  // namespace smelt::cloud
