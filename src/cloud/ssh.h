// Access to the workers of a TPU machine by OpenSSH: keys that gcloud has, too, pushed by the
// node's metadata, and servers' keys that Google tells or the first use pins.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cloud/fleet.h"
#include "cloud/retry_budget.h"
#include "cloud/tpu_api.h"

namespace smelt {

// "all", or numbers from 0 and ranges of them: "0,2-4". UsageError for what is none, and for
// workers that the machine, of `count`, has not.
std::vector<int> parse_workers(const std::string& text, int count);

struct SshSettings {
  std::string user;                  // never root (require_user)
  std::string workers = "0";         // as parse_workers() has it
  std::string folder;                // of keys: "" = ~/.ssh
  std::string config;                // a file of ssh's options instead of the user's own
  std::vector<std::string> options;  // as ssh's -o has them
  bool internal_ip = false;
  bool dry_run = false;                 // nothing is made, pushed or written
  std::vector<std::string> flags = {};  // of ssh itself, "-L", "6006:localhost:6006"
};

// UsageError for root, which is not to sign in, and for what is no user's name.
void require_user(const std::string& user);
// Who one is here; "" when that is not known.
std::string local_user();

struct SshWorker {
  int index = 0;
  std::string address;
  std::string alias;      // its own name in the file of servers' keys
  bool is_known = false;  // its key was told by Google: no other is taken
};

struct SshAccess {
  std::string user, key_file, known_hosts, config;
  std::vector<std::string> options;
  std::vector<SshWorker> workers;
  bool key_is_new = false;  // it was pushed right now, and may take a while to arrive
  std::vector<std::string> flags = {};
};

// How ssh finds the user's agent: the options of ssh (SshSettings) and the host that it connects
// to.
struct SshAgentSource {
  std::string host = "localhost";
  std::string config;
  std::vector<std::string> options;
};

// The private key that ssh signs in with, in `folder`, or in ~/.ssh if that is "". It may not exist
// yet.
std::string ssh_key_file(const std::string& folder = {});
// Throws CredentialsRefused if the key has a passphrase and the ssh agent does not hold it, which
// one may do later; UsageError if ssh cannot use the key for another reason, as when others may
// read it; SystemError if ssh-keygen did not run. The agent is that of ssh's IdentityAgent option,
// or else of SSH_AUTH_SOCK.
void require_usable_key(const std::string& file, const SshAgentSource& agent = {});

// Adds the user's public key to the node's metadata unless it is there, and waits until that is
// done. While another change of the node is in progress it is tried again for two minutes. Returns
// whether the node did not have the key. Throws as throw_fault() for a refusal.
bool push_key(TpuApi& tpu, const std::string& project, const TpuNode& node, const std::string& user,
              const std::string& key, const Patience& patience);

// Makes the key if there is none, pushes it to the node, and looks for the servers' keys. Throws
// UsageError for a node that cannot be reached in its state, and for a key as require_usable_key().
SshAccess open_ssh(TpuApi& tpu, const std::string& project, const TpuNode& node,
                   const SshSettings& settings, const Patience& patience);

// What ssh is started with for a worker, without password and question. No command: a shell of the
// terminal's.
std::vector<std::string> ssh_words(const SshAccess& access, const SshWorker& worker,
                                   const std::string& command);
// scp from or to "WORKER:path", which becomes the worker's own.
std::vector<std::string> scp_words(const SshAccess& access, const SshWorker& worker,
                                   const std::vector<std::string>& from, const std::string& to);
// `path` of the worker.
std::string remote_path(const SshAccess& access, const SshWorker& worker, const std::string& path);

// A command that ends with its connection, and when its standard input does: by TERM to all that it
// started, and KILL five seconds later. Its exit status is the command's, but 254 for 255, which is
// ssh's own.
std::string guarded_command(const std::string& command);

}  // namespace smelt
