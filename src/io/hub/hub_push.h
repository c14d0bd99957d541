// Publishes files on the Hugging Face Hub atomically, with one commit.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/hub/hub_client.h"
#include "io/hub/hub_path.h"

namespace smelt::io {

// A file to publish: a local file, or `content` if `local` is "".
struct HubPushFile {
  std::string path;  // in the repository
  std::string local;
  std::string content = {};
};

struct HubPush {
  HubRepo repo;
  std::vector<HubPushFile> files;
  std::string message;           // subject of the commit
  bool is_private = true;        // for a repository that does not exist yet
  bool replaces_weights = true;  // delete weights that are not in `files`, if it has any
};

struct HubPushed {
  std::string commit, url;
  bool is_new_repository = false;
  std::vector<std::string> sent, unchanged, deleted;  // paths in the repository
  std::uint64_t bytes = 0;                            // uploaded to large-file storage
};

// Creates the repository if it does not exist, uploads the files that differ and makes one commit
// on main. An interrupted push can be repeated: uploaded files are not sent again. Throws
// UsageError without a token or write permission, if a file contains an access token or a private
// key, and if another commit was made meanwhile; SystemError for network errors.
HubPushed push_to_hub(HubClient& client, const HubPush& push);

// Returns the README.md of the repository's branch main; "" if it or the repository does not exist.
// Throws UsageError or SystemError if the Hub refuses or fails.
std::string hub_readme(HubClient& client, const HubRepo& repo);

// Whose token is used, from the Hub.
struct HubAccount {
  std::string name, role, token_name;  // role: read, write or fineGrained
  std::vector<std::string> organizations = {};
};
// Throws UsageError without a token and if the Hub rejects it.
HubAccount hub_account(HubClient& client);

// Throws UsageError if a text contains an access token of the Hub or a private key; `name` begins
// the message.
void require_no_secret(std::string_view text, const std::string& name);

}  // namespace smelt::io
