// Path functions for local paths, gs://bucket/key, s3://bucket/key and hf://ORG/NAME/file, which is
// read only (io/hub/hub_path.h). A path on an object store
// may have a user before its bucket and options after its key:
//   gs://anonymous@bucket/key?scheme=http&endpoint_override=127.0.0.1:9023
//   s3://bucket/key?region=eu-west-1
#pragma once

#include <string>
#include <string_view>

namespace smelt::io {

// Returns whether the path begins with gs://, s3:// or hf://. Throws UsageError for any other
// "<scheme>://".
bool is_remote(std::string_view path);

// Joins two parts: "a/b", "c" -> "a/b/c". Inserts the name before the options of a path on an
// object store.
std::string join_path(std::string_view folder, std::string_view name);

// Appends a suffix: "a/b", ".json" -> "a/b.json". Inserts it before the options of a path on an
// object store. A repository on the Hugging Face Hub counts as a folder: "hf://a/b" ->
// "hf://a/b/.json".
std::string append_to_path(std::string_view path, std::string_view suffix);

// Returns the last component: "a/b/c" -> "c".
std::string path_name(std::string_view path);

// Returns the last component in lower case, for comparing suffixes: "a/b/C.TXT.gz" -> "c.txt.gz".
std::string lower_case_name(std::string_view path);

// Returns the parent folder: "a/b/c" -> "a/b", "c" -> "", "/c" -> "/". join_path(parent_path(p),
// path_name(p)) equals p.
std::string parent_path(std::string_view path);

// Marks the end of a literal object name ("gs://b/a?x=1?=", "gs://b/a?x=1?=&scheme=http"):
// everything between the bucket and "?=" is the object's name, in which '?' and '*' have no special
// meaning.
inline constexpr const char* kLiteralName = "?=";

// The parts of a path on an object store. Names are not percent-decoded.
struct RemotePath {
  std::string scheme;  // "gs" or "s3"
  std::string user;    // "" or "anonymous"
  std::string bucket;
  std::string key;          // without slashes at both ends, unless literal
  std::string options;      // "" or "?name=value&…", without kLiteralName
  bool is_literal = false;  // kLiteralName follows the key

  // Returns the path of another key in this bucket, such that parse_remote() returns exactly that
  // key. Adds kLiteralName if the key needs it.
  std::string with_key(std::string_view other) const;
  // Returns this path followed by kLiteralName, for use in a list of patterns.
  std::string literal() const;
};

// Parses a path on an object store. Throws UsageError if it has no bucket, contains a user name or
// password, or is an hf:// path: all functions that read handle those before.
RemotePath parse_remote(std::string_view path);

}  // namespace smelt::io
