#include "io/filesystem/path.h"

#include <algorithm>
#include <cctype>

#include "base/error.h"
#include "io/hub/hub_files.h"

namespace smelt::io {
namespace {

bool is_lower_alnum(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }
bool is_alnum(char c) { return is_lower_alnum(c) || (c >= 'A' && c <= 'Z'); }

// Returns the scheme of "scheme://…", or "" for a local path.
std::string_view scheme_of(std::string_view path) {
  const std::size_t end = path.find("://");
  if (end == std::string_view::npos || end == 0) return {};
  const std::string_view scheme = path.substr(0, end);
  return std::ranges::all_of(scheme, is_alnum) ? scheme : std::string_view{};
}

// Returns whether options begin with the marker of a literal name: "?=" or "?=&name=value…".
bool is_literal(std::string_view options) {
  return options == kLiteralName || options.starts_with(str(kLiteralName, "&"));
}

// Returns the position at which the options begin, or the path's size if there are none. Because
// '?' is also a wildcard, only "?name=…" after the last '?', or text for which is_literal() is
// true, counts as options.
std::size_t options_begin(std::string_view path) {
  if (is_hub_path(path)) return path.size();
  const std::size_t mark = path.rfind('?');
  if (mark == std::string_view::npos) return path.size();
  if (is_literal(path.substr(mark))) return mark;
  const std::string_view rest = path.substr(mark + 1);
  const std::size_t equals = rest.find('=');
  if (equals == std::string_view::npos || equals == 0) return path.size();
  const auto is_name = [](char c) { return is_lower_alnum(c) || c == '_'; };
  return std::ranges::all_of(rest.substr(0, equals), is_name) ? mark : path.size();
}

// Throws the error for a path with credentials. `shown` is the path without them.
[[noreturn]] void refuse_credentials(const std::string& shown) {
  throw UsageError(
      str("path: ", shown, ": a path must not contain credentials"),
      "give them in the environment or in a credentials file (docs/guides/storage.md)");
}

// Returns whether the path may contain a user name or password. A password may contain any
// character, also '/', '@' and '?', so its end cannot be found.
bool may_hold_user(std::string_view rest) {
  const std::string_view first = rest.substr(0, rest.find('/'));
  const auto in_bucket = [](char c) {
    return is_lower_alnum(c) || c == '.' || c == '-' || c == '_';
  };
  return first.find(':') != std::string_view::npos ||
         (rest.find('@') != std::string_view::npos && !std::ranges::all_of(first, in_bucket));
}

// Returns the position of an option whose name is that of a secret, such as "?secret_key=…" or
// "&sessionToken=…"; npos if there is none.
std::size_t secret_option(std::string_view path) {
  for (std::size_t at = 0; (at = path.find_first_of("?&", at)) != std::string_view::npos; ++at) {
    std::string name;
    std::size_t end = at + 1;
    for (; end < path.size() && (is_alnum(path[end]) || path[end] == '_' || path[end] == '-');
         ++end)
      name += static_cast<char>(std::tolower(static_cast<unsigned char>(path[end])));
    if (end == path.size() || path[end] != '=') continue;
    for (const char* word : {"key", "token", "secret", "password", "credential", "signature"})
      if (name.find(word) != std::string::npos) return at;
  }
  return std::string_view::npos;
}

std::string_view without_slashes(std::string_view key) {
  while (key.starts_with('/')) key.remove_prefix(1);
  while (key.ends_with('/')) key.remove_suffix(1);
  return key;
}

std::string marked_literal(std::string_view options) {
  return options.empty() ? kLiteralName : str(kLiteralName, "&", options.substr(1));
}

// Returns whether a key needs kLiteralName because the path would otherwise be misread or rejected.
bool is_misread(std::string_view key, std::string_view options) {
  return (options.empty() && options_begin(key) != key.size()) ||
         secret_option(key) != std::string_view::npos;
}

}  // namespace

bool is_remote(std::string_view path) {
  const std::string_view scheme = scheme_of(path);
  if (scheme.empty()) return false;
  if (scheme == "gs" || scheme == "s3" || scheme == "hf") return true;
  throw UsageError(str("path: ", scheme, "://…: unknown storage scheme '", scheme, "'"),
                   "give a local path, gs://bucket/…, s3://bucket/… or hf://ORGANIZATION/NAME/…");
}

std::string append_to_path(std::string_view path, std::string_view suffix) {
  // A suffix of a repository's name would name another repository: "hf://a/b.index".
  if (is_hub_path(path) && !suffix.starts_with('/') && parse_hub_path(path).path.empty())
    return str(path, path.ends_with('/') ? "" : "/", suffix);
  if (!is_remote(path) || is_hub_path(path)) return str(path, suffix);
  const std::size_t end = options_begin(path);
  const std::string_view options = path.substr(end);
  const std::string whole = str(path.substr(0, end), suffix);
  // A path with a secret is not marked as literal, so that parse_remote() still rejects it.
  const bool is_misread_now = secret_option(path) == std::string_view::npos &&
                              !is_literal(options) && is_misread(whole, options);
  return str(whole, is_misread_now ? marked_literal(options) : std::string(options));
}

std::string join_path(std::string_view folder, std::string_view name) {
  const std::size_t end = is_remote(folder) ? options_begin(folder) : folder.size();
  const bool separated = end == 0 || folder[end - 1] == '/';
  return append_to_path(folder, str(separated ? "" : "/", name));
}

std::string path_name(std::string_view path) {
  std::string_view whole = is_remote(path) ? path.substr(0, options_begin(path)) : path;
  while (whole.size() > 1 && whole.back() == '/') whole.remove_suffix(1);
  return std::string(whole.substr(whole.rfind('/') + 1));
}

std::string lower_case_name(std::string_view path) { return lower_case(path_name(path)); }

std::string parent_path(std::string_view path) {
  const std::size_t options = is_remote(path) ? options_begin(path) : path.size();
  std::size_t end = options;
  while (end > 1 && path[end - 1] == '/') --end;
  const std::size_t name = path.substr(0, end).rfind('/') + 1;  // 0 without a slash
  return str(path.substr(0, name > 1 ? name - 1 : name), path.substr(options));
}

std::string RemotePath::with_key(std::string_view other) const {
  const bool has_slash = other.starts_with('/') || other.ends_with('/');
  return str(scheme, "://", user, user.empty() ? "" : "@", bucket, "/", other,
             has_slash || is_misread(other, options) ? marked_literal(options) : options);
}

std::string RemotePath::literal() const {
  return str(scheme, "://", user, user.empty() ? "" : "@", bucket, "/", key,
             marked_literal(options));
}

RemotePath parse_remote(std::string_view path) {
  CHECK(is_remote(path));
  if (is_hub_path(path)) refuse_hub_output("path", std::string(path));
  RemotePath parts;
  parts.scheme = scheme_of(path);
  const std::size_t end = options_begin(path);
  parts.options = path.substr(end);
  parts.is_literal = is_literal(parts.options);
  std::string_view rest = path.substr(0, end).substr(parts.scheme.size() + 3);
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  std::string_view bucket = rest.substr(0, slash);
  std::string_view key = rest.substr(slash);
  if (constexpr std::string_view kAnonymous = "anonymous@";
      parts.scheme == "gs" && bucket.starts_with(kAnonymous)) {
    parts.user = "anonymous";
    bucket.remove_prefix(kAnonymous.size());
  }
  if (may_hold_user(str(bucket, key, parts.options))) refuse_credentials(str(parts.scheme, "://…"));
  if (parts.is_literal) {
    parts.options.erase(1, 2);  // "?=&scheme=http" -> "?scheme=http", "?=" -> "?"
    if (parts.options == "?") parts.options.clear();
    key.remove_prefix(key.empty() ? 0 : 1);
  }
  const std::string_view checked = parts.is_literal ? path.substr(end) : path;
  if (const std::size_t at = secret_option(checked); at != std::string_view::npos)
    refuse_credentials(str(checked.substr(0, at), "?…"));
  if (!parts.is_literal) key = without_slashes(key);
  if (bucket.empty())
    throw UsageError(str("path: ", parts.scheme, "://: the bucket is missing"),
                     str("write ", parts.scheme, "://bucket/…"));
  parts.bucket = bucket;
  parts.key = key;
  return parts;
}

}  // namespace smelt::io
