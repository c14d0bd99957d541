// Access to the workers of a TPU machine by OpenSSH. User keys are shared with gcloud and stored in
// the node's metadata; host keys come from Google or are pinned at first use.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cloud/fleet.h"
#include "cloud/retry_budget.h"
#include "cloud/tpu_api.h"

namespace smelt::cloud {

// Parses "all", or numbers from 0 and ranges such as "0,2-4". Throws UsageError if the text is
// invalid or a worker does not exist on the machine of `count` workers.
std::vector<int> parse_workers(const std::string& text, int count);

// How to connect.
struct SshSettings {
  std::string user;                  // login name, never root (require_user())
  std::string workers = "0";         // in the form of parse_workers()
  std::string folder;                // folder of the keys; "" = ~/.ssh
  std::string config;                // ssh configuration file; "" = the user's own
  std::vector<std::string> options;  // in the form of ssh's -o
  bool internal_ip = false;
  bool dry_run = false;  // do not create, upload or write anything
  // further arguments of ssh, such as "-L", "6006:localhost:6006"
  std::vector<std::string> flags = {};
};

// Throws UsageError for root, and for names that are not valid user names.
void require_user(const std::string& user);
// Returns the local user name; "" if unknown.
std::string local_user();

// A worker to connect to.
struct SshWorker {
  int index = 0;
  std::string address;
  std::string alias;      // its name in the known_hosts file
  bool is_known = false;  // its host key came from Google; reject others
};

// The arguments with which ssh connects to some workers. open_ssh() prepares them.
struct SshAccess {
  std::string user, key_file, known_hosts, config;
  std::vector<std::string> options;
  std::vector<SshWorker> workers;
  // the key was uploaded just now and may take a while to reach the workers
  bool key_is_new = false;
  std::vector<std::string> flags = {};
};

// How ssh finds the user's agent: the options of ssh (SshSettings) and the host that it connects
// to.
struct SshAgentSource {
  std::string host = "localhost";
  std::string config;
  std::vector<std::string> options;
};

// Returns the path of the private key that ssh signs in with, in `folder`, or in ~/.ssh if that is
// "". The file may not exist yet.
std::string ssh_key_file(const std::string& folder = {});
// Throws CredentialsRefused if the key has a passphrase and the ssh agent does not hold it; the
// user can then add it to the agent and try again. Throws UsageError if ssh cannot use the key for
// another reason, such as a key file that other users can read, and SystemError if ssh-keygen did
// not run. The agent is that of ssh's IdentityAgent option, or else of SSH_AUTH_SOCK.
void require_usable_key(const std::string& file, const SshAgentSource& agent = {});

// Adds the user's public key to the node's metadata, if missing, and waits for the change. Retries
// for two minutes while another change of the node is in progress. Returns whether the key was
// missing. Throws like throw_fault() if the request is refused.
bool push_key(TpuApi& tpu, const std::string& project, const TpuNode& node, const std::string& user,
              const std::string& key, const Patience& patience);

// Creates the key if it is missing, uploads it to the node and gets the host keys. Throws
// UsageError if the node cannot be reached in its state, and errors of require_usable_key().
SshAccess open_ssh(TpuApi& tpu, const std::string& project, const TpuNode& node,
                   const SshSettings& settings, const Patience& patience);

// Returns the ssh command for a worker, which never prompts. An empty command opens a shell on the
// terminal.
std::vector<std::string> ssh_words(const SshAccess& access, const SshWorker& worker,
                                   const std::string& command);
// Returns the scp command for a worker. Paths on the worker are those of remote_path().
std::vector<std::string> scp_words(const SshAccess& access, const SshWorker& worker,
                                   const std::vector<std::string>& from, const std::string& to);
// Returns `path` on the worker in scp's form.
std::string remote_path(const SshAccess& access, const SshWorker& worker, const std::string& path);

// Returns a command that ends when its connection or its stdin closes: it sends TERM to everything
// it started and KILL five seconds later. Its exit status is the command's, except 254 in place of
// 255, which ssh uses itself.
std::string guarded_command(const std::string& command);

}  // namespace smelt::cloud
