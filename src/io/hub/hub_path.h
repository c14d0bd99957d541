// Names of files on the Hugging Face Hub:
// hf://[models/|datasets/|spaces/]ORG/NAME[@REVISION][/PATH]. The grammar is that of
// huggingface_hub's HfFileSystem, except that ORG is required.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace smelt::io {

enum class RepoKind : std::uint8_t { model, dataset, space };

// Returns "models", "datasets" or "spaces", as in URLs of the Hub's API.
std::string_view plural_name(RepoKind kind);

// A repository on the Hub.
struct HubRepo {
  RepoKind kind = RepoKind::model;
  std::string id;  // "ORG/NAME"

  // Returns the first part of URLs of its files: "ORG/NAME" or "datasets/ORG/NAME".
  std::string url_path() const;
  friend auto operator<=>(const HubRepo&, const HubRepo&) = default;
};

struct HubPath {
  HubRepo repo;
  std::string revision;  // branch, tag, commit or refs/pr/N; "" if not given
  std::string path;      // "" is the root folder; without slashes at its ends

  std::string revision_or_main() const { return revision.empty() ? "main" : revision; }
  std::string text() const;
  // Returns the same path at another revision.
  HubPath at_revision(const std::string& other) const { return {repo, other, path}; }
  // Returns the path of another file in the repository.
  HubPath with_path(const std::string& other) const { return {repo, revision, other}; }
};

// Returns whether the path begins with hf://.
bool is_hub_path(std::string_view path);

// Parses a path. Throws UsageError if it is not valid, contains credentials, or leaves the
// repository with "..".
HubPath parse_hub_path(std::string_view path);

// Parses "ORG/NAME" or hf://ORG/NAME without a path; `what` begins the message. Throws UsageError.
HubPath parse_repo(const std::string& name, std::string_view what);

// Returns whether the text is a valid ORG/NAME.
bool is_repo_id(std::string_view id);

// Returns whether this is the full name of a commit: 40 hexadecimal digits.
bool is_commit(std::string_view revision);

// Returns whether the path of a file in a repository is relative, without "..", empty parts or
// control characters.
bool is_safe_path(std::string_view path);

// Percent-encodes a path, except for '/'.
std::string encoded_path(std::string_view path);

}  // namespace smelt::io
