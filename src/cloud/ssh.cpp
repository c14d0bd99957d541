#include "cloud/ssh.h"

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <regex>
#include <set>

#include "base/error.h"
#include "base/run_program.h"
#include "cloud/tpu_fault.h"
#include "io/credentials/credential_file.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"

namespace smelt::cloud {
namespace {

constexpr const char* kKeysOfMetadata = "ssh-keys";

int worker_number(std::string_view text, const std::string& whole) {
  int value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0)
    throw UsageError(str("--worker: '", whole, "' is not a list of workers"),
                     "--worker all, or a list such as 0,2-4");
  return value;
}

// Finds the user's key, or creates it as gcloud does, in the same place.
void find_or_make_key(const std::string& file) {
  if (io::exists(file) && io::exists(file + ".pub")) return;
  if (io::exists(file))
    throw UsageError(str(file, ": its public key is missing"),
                     str("ssh-keygen -y -f ", file, " > ", file, ".pub"));
  if (const std::string folder = io::parent_path(file); !io::exists(folder)) {
    io::make_folders(folder);
    ::chmod(folder.c_str(), 0700);
  }
  const int status =
      run_program({"ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "smelt", "-f", file});
  if (status != 0)
    throw SystemError(str("ssh-keygen ended with ", status, ": no key was created"),
                      "apt-get install openssh-client");
}

// Returns "ssh-ed25519 AAAA…", without the comment after it.
std::string public_key(const std::string& file) {
  const std::string text = io::read_file(file + ".pub", io::kSmallFileBytes);
  const auto words = split(trim(text), ' ');
  if (words.size() < 2)
    throw UsageError(str(file, ".pub: not a public key"), "create it again with ssh-keygen -y");
  return str(words[0], " ", words[1]);
}

// Returns the metadata with the line of a key added; nullopt if the metadata has it.
std::optional<std::map<std::string, std::string>> with_key(
    std::map<std::string, std::string> metadata, const std::string& line) {
  std::string& keys = metadata[kKeysOfMetadata];
  for (const std::string_view there : split(keys, '\n'))
    if (trim(there) == line) return std::nullopt;
  keys += str(keys.empty() || keys.ends_with('\n') ? "" : "\n", line);
  return metadata;
}

// Returns whether another change of the node is in progress. Another smelt command may be making
// the same change.
bool is_busy(const ApiFault& fault) {
  return fault.status == 409 || fault.code == "ABORTED" || fault.code == "FAILED_PRECONDITION";
}

// Replaces the node's metadata and waits for the operation. Returns the error of the request or of
// the operation, or nullopt on success. Throws SystemError if the operation does not end in time.
std::optional<ApiFault> change_metadata(TpuApi& tpu, const TpuNode& node,
                                        const std::map<std::string, std::string>& metadata,
                                        const std::string& what, const Patience& patience) {
  const auto begun = tpu.set_metadata(node.zone, node.name, metadata);
  if (begun.fault) return begun.fault;
  TpuApi::Progress progress;
  if (!poll_until(patience, [&] { return (progress = tpu.progress(begun.operation)).done; }))
    throw SystemError(str("cloud: ", what, ": the change did not finish in time"), "try again");
  return progress.fault;
}

bool is_key_type(const std::string& name) {
  return name == "ssh-ed25519" || name == "ssh-rsa" || name.starts_with("ecdsa-sha2-");
}

bool is_base64(const std::string& text) {
  static const std::regex form("[A-Za-z0-9+/]+={0,2}");
  return std::regex_match(text, form);
}

// Replaces the workers' host keys in the known_hosts file by those that Google reports. A dry run
// does not change the file.
void take_known_hosts(SshAccess& access, const TpuNode& node,
                      const std::vector<std::map<std::string, std::string>>& host_keys,
                      bool dry_run) {
  std::set<std::string> renewed;
  std::string lines;
  for (SshWorker& worker : access.workers) {
    worker.alias = str("tpu.", node.zone, ".", node.name, "-", worker.index, ".", node.create_time);
    std::ranges::replace(worker.alias, ':', '-');
    if (static_cast<std::size_t>(worker.index) >= host_keys.size()) continue;
    for (const auto& [type, key] : host_keys[static_cast<std::size_t>(worker.index)]) {
      if (!is_key_type(type) || !is_base64(key)) continue;
      lines += str(worker.alias, " ", type, " ", key, "\n");
      worker.is_known = true;
      renewed.insert(worker.alias);
    }
  }
  if (lines.empty() || dry_run) return;
  std::string kept;
  if (io::exists(access.known_hosts)) {
    const std::string before = io::read_file(access.known_hosts, io::kSmallFileBytes);
    for (const std::string_view line : split(before, '\n'))
      if (!line.empty() && !renewed.contains(std::string(line.substr(0, line.find(' ')))))
        kept += str(line, "\n");
  }
  io::write_file(access.known_hosts, kept + lines);
}

void require_reachable(const TpuNode& node) {
  const std::string what = str("cloud: ", node.name, " in ", node.zone, " is ", node.state);
  if (node.is_lost())
    throw UsageError(what,
                     str("smelt cloud down ", node.name, " --zone ", node.zone, ", and up again"));
  if (node.state == "STOPPED" || node.state == "STOPPING")
    throw UsageError(what, str("smelt cloud start ", node.name, " --zone ", node.zone));
  if (node.state == "CREATING" || node.state == "DELETING" || node.state == "STARTING")
    throw UsageError(what, str("smelt cloud status ", node.name, " --zone ", node.zone, " --wait"));
}

// The socket of an ssh agent; "" if ssh uses none.
struct AgentSocket {
  std::string path;
  bool is_configured = false;  // by ssh's IdentityAgent option
};

// Returns the agent that ssh uses, as `ssh -G` reports it.
AgentSocket agent_socket(const SshAgentSource& source) {
  std::string command = "ssh -G -T";
  if (!source.config.empty()) command += str(" -F ", shell_word(source.config));
  for (const std::string& option : source.options) command += str(" -o ", shell_word(option));
  const ShellOutput options = run_shell(str(command, " -- ", source.host, " 2>/dev/null"), "");
  constexpr std::string_view kOption = "identityagent ";
  for (const std::string_view line : split(options.text, '\n')) {
    if (!line.starts_with(kOption)) continue;
    const std::string value(line.substr(kOption.size()));
    if (value == "none") return {"", true};
    if (value == "SSH_AUTH_SOCK") break;
    if (value.starts_with('$')) {  // a variable: $NAME or ${NAME}
      const bool braces = value.starts_with("${") && value.ends_with('}');
      const std::string name = braces ? value.substr(2, value.size() - 3) : value.substr(1);
      return {io::environment(name.c_str()), true};
    }
    return {value, true};
  }
  return {io::environment("SSH_AUTH_SOCK"), false};
}

// Throws CredentialsRefused unless the agent that ssh uses holds the key, which has a passphrase.
void require_agent(const std::string& file, const SshAgentSource& source) {
  const AgentSocket agent = agent_socket(source);
  const std::string variable = str("SSH_AUTH_SOCK=", shell_word(agent.path), " ");
  if (!agent.path.empty() && io::exists(file + ".pub") &&
      run_shell(variable + "ssh-add -L 2>/dev/null", "").text.find(public_key(file)) !=
          std::string::npos)
    return;
  const std::string what = str(file, ": this key has a passphrase and ");
  constexpr const char* kWhy = "; smelt runs ssh in batch mode, which cannot ask for it";
  if (!agent.is_configured)
    throw io::CredentialsRefused(
        str(what, "is not loaded in an ssh agent", kWhy),
        str("ssh-add ", file, " (after eval \"$(ssh-agent)\" if no agent runs)"));
  if (agent.path.empty())
    throw io::CredentialsRefused(
        str(what, "ssh's option IdentityAgent names no agent that could hold it", kWhy),
        "remove IdentityAgent from ~/.ssh/config, or set it to the socket of your agent");
  throw io::CredentialsRefused(
      str(what, "the agent at ", agent.path,
          " (IdentityAgent in ssh's configuration) does not hold it", kWhy),
      str(variable, "ssh-add ", file));
}

constexpr const char* kFastKeys = "KexAlgorithms=^curve25519-sha256";

// Returns the options that ssh and scp share.
std::vector<std::string> common_words(const SshAccess& access, const SshWorker& worker) {
  std::vector<std::string> words;
  if (!access.config.empty()) words.insert(words.end(), {"-F", access.config});
  // ssh uses the first value of an option, so the user's options cannot override these.
  for (const std::string& option :
       {std::string("BatchMode=yes"), std::string("PasswordAuthentication=no"),
        std::string("KbdInteractiveAuthentication=no"), std::string("IdentitiesOnly=yes"),
        str("UserKnownHostsFile=", access.known_hosts), std::string("GlobalKnownHostsFile=none"),
        str("HostKeyAlias=", worker.alias), std::string("CheckHostIP=no"),
        str("StrictHostKeyChecking=", worker.is_known ? "yes" : "accept-new"),
        std::string("LogLevel=ERROR")})
    words.insert(words.end(), {"-o", option});
  for (const std::string& option : access.options) words.insert(words.end(), {"-o", option});
  for (const char* option :
       {"ConnectTimeout=30", "ServerAliveInterval=20", "ServerAliveCountMax=6"})
    words.insert(words.end(), {"-o", option});
  // OpenSSH 9 prefers the key exchange sntrup761, which takes most of the CPU time of a connection.
  if (access.workers.size() > 1) words.insert(words.end(), {"-o", kFastKeys});
  words.insert(words.end(), {"-i", access.key_file});
  return words;
}

}  // namespace

std::vector<int> parse_workers(const std::string& text, int count) {
  std::set<int> out;
  if (text == "all")
    for (int i = 0; i < count; ++i) out.insert(i);
  else
    for (const std::string_view item : split(text, ',')) {
      const std::size_t dash = item.find('-');
      const int first = worker_number(item.substr(0, dash), text);
      const int last =
          dash == std::string_view::npos ? first : worker_number(item.substr(dash + 1), text);
      if (last < first || last >= count)
        throw UsageError(
            str("--worker: worker '", item, "' does not exist; the machine has ", count),
            "--worker all");
      for (int i = first; i <= last; ++i) out.insert(i);
    }
  if (out.empty())
    throw UsageError("--worker: the machine has no workers yet", "smelt cloud status");
  return {out.begin(), out.end()};
}

void require_user(const std::string& user) {
  static const std::regex form("[a-z_][a-z0-9_.-]{0,31}");
  if (user == "root")
    throw UsageError("cannot sign in to a machine as root",
                     "NAME@MACHINE, or --user NAME for a recipe; NAME may use sudo there");
  if (!std::regex_match(user, form))
    throw UsageError(str("'", user, "' is not a valid user name for the machine"),
                     "NAME@MACHINE, or --user NAME for a recipe");
}

std::string ssh_key_file(const std::string& folder) {
  if (!folder.empty()) return folder + "/google_compute_engine";
  const std::string home = io::environment("HOME");
  if (home.empty())
    throw UsageError("HOME is not set, so the folder of ssh keys is unknown", "export HOME=~");
  return home + "/.ssh/google_compute_engine";
}

void require_usable_key(const std::string& file, const SshAgentSource& agent) {
  const ShellOutput read =
      run_shell(str("ssh-keygen -y -P '' -f ", shell_word(file), " 2>&1 >/dev/null"), "");
  if (read.status == 0) return;
  const std::string said(trim(read.text));
  if (read.status != 1 && read.status != 255)  // not a status of ssh-keygen itself
    throw SystemError(str(file, ": ssh-keygen, which checks the key, did not run: ", said),
                      "apt-get install openssh-client");
  if (said.find("incorrect passphrase") == std::string::npos)
    throw UsageError(str(file, ": ssh cannot use this key: ", said.substr(said.rfind('\n') + 1)),
                     str("chmod 600 ", file, ", or look at: ssh-keygen -y -f ", file));
  require_agent(file, agent);
}

bool push_key(TpuApi& tpu, const std::string& project, const TpuNode& node, const std::string& user,
              const std::string& key, const Patience& patience) {
  constexpr int kTries = 24;
  constexpr std::chrono::seconds kBetween(5);
  const std::string what = str("the key for ", node.name, " in ", node.zone);
  const std::string line = str(user, ":", key, " ", user);
  auto metadata = with_key(node.metadata, line);
  if (!metadata) return false;
  for (int tries = 1; metadata; ++tries) {
    const auto fault = change_metadata(tpu, node, *metadata, what, patience);
    if (!fault) return true;
    if (!is_busy(*fault)) throw_fault(*fault, what, project);
    if (tries == kTries)
      throw SystemError(str("cloud: ", what, ": ", fault->message), "give the same command again");
    patience.wait(kBetween);
    const auto there = tpu.node(node.zone, node.name);
    metadata = with_key(there ? there->metadata : node.metadata, line);
  }
  return true;  // another command has added it meanwhile
}

std::string local_user() {
  const ::passwd* entry = ::getpwuid(::geteuid());
  return entry == nullptr ? "" : entry->pw_name;
}

SshAccess open_ssh(TpuApi& tpu, const std::string& project, const TpuNode& node,
                   const SshSettings& settings, const Patience& patience) {
  require_reachable(node);
  SshAccess access{settings.user,    "", "",    settings.config,
                   settings.options, {}, false, settings.flags};
  for (const int index : parse_workers(settings.workers, static_cast<int>(node.addresses.size()))) {
    const auto i = static_cast<std::size_t>(index);
    const std::string& external = node.external_addresses[i];
    const bool inside = settings.internal_ip || external.empty();
    access.workers.push_back({index, inside ? node.addresses[i] : external, "", false});
  }
  access.key_file = ssh_key_file(settings.folder);
  access.known_hosts = io::parent_path(access.key_file) + "/smelt_known_hosts";
  if (!settings.dry_run) {
    find_or_make_key(access.key_file);
    require_usable_key(access.key_file,
                       {access.workers.front().address, access.config, access.options});
    access.key_is_new =
        push_key(tpu, project, node, access.user, public_key(access.key_file), patience);
  }
  take_known_hosts(access, node, tpu.guest_attributes(node.zone, node.name, "hostkeys/"),
                   settings.dry_run);
  return access;
}

std::vector<std::string> ssh_words(const SshAccess& access, const SshWorker& worker,
                                   const std::string& command) {
  std::vector<std::string> words{"ssh", command.empty() ? "-t" : "-T"};
  const auto common = common_words(access, worker);
  words.insert(words.end(), common.begin(), common.end());
  words.insert(words.end(), access.flags.begin(), access.flags.end());
  words.insert(words.end(), {"-l", access.user, "--", worker.address});
  if (!command.empty()) words.push_back(command);
  return words;
}

std::string remote_path(const SshAccess& access, const SshWorker& worker, const std::string& path) {
  return str(access.user, "@", worker.address, ":", path);
}

std::vector<std::string> scp_words(const SshAccess& access, const SshWorker& worker,
                                   const std::vector<std::string>& from, const std::string& to) {
  std::vector<std::string> words{"scp", "-r", "-q", "-p"};
  const auto common = common_words(access, worker);
  words.insert(words.end(), common.begin(), common.end());
  words.push_back("--");
  words.insert(words.end(), from.begin(), from.end());
  words.push_back(to);
  return words;
}

std::string guarded_command(const std::string& command) {
  const std::string script =
      str("exec 3<&0\n"
          "setsid \"${SHELL:-/bin/sh}\" -c ",
          shell_word(command),
          " </dev/null 3<&- &\n"
          "child=$!\n"
          "( while read -r line; do :; done <&3; kill -s TERM -- \"-$child\"; sleep 5; "
          "kill -s KILL -- \"-$child\" ) >/dev/null 2>&1 &\n"
          "watcher=$!\n"
          "wait \"$child\"; code=$?\n"
          "[ \"$code\" -eq 255 ] && code=254\n"
          "kill \"$watcher\" 2>/dev/null\n"
          "exit \"$code\"\n");
  return str("sh -c ", shell_word(script));
}

}  // namespace smelt::cloud
