// Names of files, wherever they are: a local path, gs://bucket/key or s3://bucket/key.
// A path on an object store may name a user before its bucket and options behind its key:
//   gs://anonymous@bucket/key?scheme=http&endpoint_override=127.0.0.1:9023
//   s3://bucket/key?region=eu-west-1
#pragma once

#include <string>
#include <string_view>

namespace smelt {

// Whether the path begins with gs:// or s3://. UsageError for any other "<scheme>://".
bool is_remote(std::string_view path);

// "a/b", "c" -> "a/b/c"; before the options of a path on an object store.
std::string join_path(std::string_view folder, std::string_view name);

// "a/b", ".json" -> "a/b.json"; before the options of a path on an object store.
std::string append_to_path(std::string_view path, std::string_view suffix);

// "a/b/c" -> "c"
std::string path_name(std::string_view path);

// Returns the file name in lower case, to compare endings: "a/b/C.TXT.gz" -> "c.txt.gz".
std::string lower_case_name(std::string_view path);

// "a/b/c" -> "a/b", "c" -> "", "/c" -> "/": join_path(parent_path(p), path_name(p)) is p.
std::string parent_path(std::string_view path);

// Stands between the name of an object and its options, if any ("gs://b/a?x=1?=",
// "gs://b/a?x=1?=&scheme=http"): all before it is the object's name, character by character,
// without options, wildcards or credentials in it.
inline constexpr const char* kLiteralName = "?=";

// The parts of a path on an object store. Names are not percent-decoded.
struct RemotePath {
  std::string scheme;  // "gs" or "s3"
  std::string user;    // "" or "anonymous"
  std::string bucket;
  std::string key;          // without slashes at its ends, unless it is literal
  std::string options;      // "" or "?name=value&…", without kLiteralName
  bool is_literal = false;  // kLiteralName stands behind the key

  // Returns the path of another key of this bucket. parse_remote() gives exactly this key back: a
  // name that would be read in another way is followed by kLiteralName.
  std::string with_key(std::string_view other) const;
  // Returns this path followed by kLiteralName, for use in a list of patterns.
  std::string literal() const;
};

// Throws UsageError if the path has no bucket, or contains a user name or password.
RemotePath parse_remote(std::string_view path);

}  // namespace smelt
