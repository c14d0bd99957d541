#include "io/hub/hub_path.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "io/http/url.h"
#include "io/hub/hub_digest.h"

namespace smelt::io {
namespace {

constexpr std::string_view kScheme = "hf://";
constexpr std::size_t kMostIdCharacters = 96;
constexpr const char* kForm = "hf://ORGANIZATION/NAME, or hf://datasets/ORGANIZATION/NAME/FILE";

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool is_id_part(std::string_view part) {
  const auto allowed = [](char c) { return is_word(c) || c == '.' || c == '-'; };
  const auto at_end = [](char c) { return c == '.' || c == '-'; };
  return !part.empty() && part.size() <= kMostIdCharacters && std::ranges::all_of(part, allowed) &&
         !at_end(part.front()) && !at_end(part.back()) &&
         part.find("--") == std::string_view::npos && part.find("..") == std::string_view::npos;
}

// Removes and returns the text before the first '/', and the slash.
std::string_view next_part(std::string_view& rest) {
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  const std::string_view part = rest.substr(0, slash);
  rest.remove_prefix(std::min(slash + 1, rest.size()));
  return part;
}

[[noreturn]] void refuse(std::string_view path, const std::string& why, std::string_view hint) {
  throw UsageError(str("path: ", path, ": ", why), hint);
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

std::string percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escape = text[i] == '%' && i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 &&
                        hex_digit(text[i + 2]) >= 0;
    out +=
        escape ? static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2])) : text[i];
    if (escape) i += 2;
  }
  return out;
}

// Removes "datasets/", "models/" or "spaces/" and returns the kind.
RepoKind take_kind(std::string_view path, std::string_view& rest) {
  constexpr std::array<std::pair<std::string_view, RepoKind>, 3> kKinds{
      {{"models", RepoKind::model}, {"datasets", RepoKind::dataset}, {"spaces", RepoKind::space}}};
  for (const auto& [name, kind] : kKinds) {
    const std::string_view first = rest.substr(0, rest.find('/'));
    if (first == name.substr(0, name.size() - 1))
      refuse(path, str("'", first, "/' is not a kind of repository"),
             str("write hf://", name, "/…"));
    if (first != name) continue;
    rest.remove_prefix(std::min(name.size() + 1, rest.size()));
    return kind;
  }
  return RepoKind::model;
}

// Removes and returns the revision, which follows '@': the text before the next '/', or
// refs/pr/N or refs/convert/NAME. %2F stands for '/'.
std::string take_revision(std::string_view path, std::string_view& rest) {
  std::string revision;
  if (rest.starts_with("refs/pr/") || rest.starts_with("refs/convert/")) {
    revision = str(next_part(rest), "/");
    revision += str(next_part(rest), "/");
  }
  const std::string_view last = next_part(rest);
  revision += percent_decoded(last);
  if (last.empty())
    refuse(path, "the revision behind '@' is empty", "write hf://ORGANIZATION/NAME@main");
  const auto forbidden = [](unsigned char c) { return c <= ' ' || c == 127 || c == '\\'; };
  if (std::ranges::any_of(revision, forbidden) || !is_safe_path(revision))
    refuse(path, "the revision is not the name of a branch, tag or commit",
           "write hf://ORGANIZATION/NAME@main");
  return revision;
}

}  // namespace

std::string_view plural_name(RepoKind kind) {
  return kind == RepoKind::model ? "models" : kind == RepoKind::dataset ? "datasets" : "spaces";
}

std::string HubRepo::url_path() const {
  return kind == RepoKind::model ? id : str(plural_name(kind), "/", id);
}

std::string HubPath::text() const {
  // The slashes of refs/pr/N and refs/convert/NAME need no escape.
  std::size_t literal = 0;
  for (const std::string_view prefix : {"refs/pr/", "refs/convert/"})
    if (revision.starts_with(prefix)) literal = prefix.size();
  std::string shown = revision.substr(0, literal);
  for (const char c : std::string_view(revision).substr(literal))
    shown += c == '/' ? "%2F" : c == '%' ? "%25" : std::string(1, c);
  return str(kScheme, repo.url_path(), shown.empty() ? "" : "@", shown, path.empty() ? "" : "/",
             path);
}

bool is_hub_path(std::string_view path) { return path.starts_with(kScheme); }

bool is_repo_id(std::string_view id) {
  const std::size_t slash = id.find('/');
  return slash != std::string_view::npos && is_id_part(id.substr(0, slash)) &&
         is_id_part(id.substr(slash + 1)) && !id.ends_with(".git");
}

bool is_commit(std::string_view revision) { return revision.size() == 40 && is_digest(revision); }

bool is_safe_path(std::string_view path) {
  const auto is_control = [](unsigned char c) { return c < ' ' || c == 127; };
  if (std::ranges::any_of(path, is_control)) return false;
  return std::ranges::none_of(split(path, '/'), [](std::string_view part) {
    return part.empty() || part == "." || part == "..";
  });
}

std::string encoded_path(std::string_view path) {
  std::string out;
  for (const std::string_view part : split(path, '/'))
    out += str(out.empty() ? "" : "/", percent_encoded(part));
  return out;
}

HubPath parse_hub_path(std::string_view path) {
  CHECK(is_hub_path(path));
  std::string_view rest = path.substr(kScheme.size());
  HubPath out;
  out.repo.kind = take_kind(path, rest);
  const std::string_view organization = next_part(rest);
  if (organization.find_first_of(":@") != std::string_view::npos)
    refuse("hf://…", "a path must not contain credentials",
           "give the access token in HF_TOKEN, or sign in with `hf auth login`");
  const std::size_t name_end = std::min(rest.find_first_of("/@"), rest.size());
  out.repo.id = str(organization, "/", rest.substr(0, name_end));
  if (!is_repo_id(out.repo.id))
    refuse(path, "not the name of a repository on the Hugging Face Hub",
           name_end == 0 ? str("write ", kForm,
                               "; the organization is required, as in "
                               "hf://google-bert/bert-base-uncased")
                         : str("write ", kForm));
  const bool has_revision = name_end < rest.size() && rest[name_end] == '@';
  rest.remove_prefix(std::min(name_end + 1, rest.size()));
  if (has_revision) out.revision = take_revision(path, rest);
  while (rest.ends_with('/')) rest.remove_suffix(1);
  if (!rest.empty() && !is_safe_path(rest))
    refuse(path, "the path of a file must not contain '..', '//' or control characters",
           "name a file as in hf://ORGANIZATION/NAME/FOLDER/FILE");
  out.path = rest;
  return out;
}

HubPath parse_repo(const std::string& name, std::string_view what) {
  const HubPath parsed = is_hub_path(name)  ? parse_hub_path(name)
                         : is_repo_id(name) ? HubPath{{RepoKind::model, name}, "", ""}
                                            : HubPath{};
  if (parsed.repo.id.empty() || !parsed.path.empty())
    throw UsageError(str(what, ": ", name, ": expected a repository, ORGANIZATION/NAME"),
                     "write hf://datasets/ORGANIZATION/NAME for a dataset");
  return parsed;
}

}  // namespace smelt::io
