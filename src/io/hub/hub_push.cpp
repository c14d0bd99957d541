#include "io/hub/hub_push.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <span>

#include "base/error.h"
#include "base/log.h"
#include "base/progress.h"
#include "io/credentials/json_text.h"
#include "io/credentials/jwt.h"
#include "io/hub/hub_digest.h"

namespace smelt::io {
namespace {

constexpr std::size_t kSampleBytes = 512, kFilesPerCall = 256;
constexpr std::uint64_t kMostTextBytes = std::uint64_t{10} << 20;  // searched for secrets
constexpr int kCommitTries = 3;

std::string part_of_file(const std::string& path, std::uint64_t most) {
  std::ifstream file(path, std::ios::binary);
  std::string out(most, '\0');
  file.read(out.data(), static_cast<std::streamsize>(most));
  if (file.bad() || (!file && !file.eof())) throw_errno("read", path, errno);
  out.resize(static_cast<std::size_t>(file.gcount()));
  return out;
}

// A file to publish with what the Hub must know of it.
struct Outgoing {
  const HubPushFile* file = nullptr;
  std::uint64_t size = 0;
  std::string sha256 = {}, git_sha1 = {}, sample = {};
  bool is_large = false, is_unchanged = false, is_ignored = false;

  std::string bytes() const {
    return file->local.empty() ? file->content : part_of_file(file->local, size);
  }
  // Returns the SHA-256 of a file for large-file storage, or the name of another file as a git
  // blob. Reads the file once.
  const std::string& digest() {
    std::string& hex = is_large ? sha256 : git_sha1;
    if (hex.empty())
      hex = file->local.empty() ? digest_of_text(file->content, is_large).hex
                                : digest_of_file(file->local, is_large).hex;
    return hex;
  }
};

Outgoing outgoing(const HubPushFile& file) {
  Outgoing out;
  out.file = &file;
  if (file.local.empty()) {
    out.size = file.content.size();
    out.sample = file.content.substr(0, kSampleBytes);
  } else {
    std::error_code error;
    out.size = std::filesystem::file_size(file.local, error);
    if (error) throw_errno("read", file.local, error.value());
    out.sample = part_of_file(file.local, kSampleBytes);
  }
  if (out.size <= kMostTextBytes && out.sample.find('\0') == std::string::npos)
    require_no_secret(out.bytes(), file.path);
  return out;
}

bool is_weights(const std::string& path) {
  return path.find('/') == std::string::npos &&
         (path.ends_with(".safetensors") || path == "model.safetensors.index.json" ||
          path.starts_with("pytorch_model") || path == "tf_model.h5" ||
          path == "flax_model.msgpack");
}

// One push. Each step leaves the repository unchanged until the commit.
class Push {
 public:
  Push(HubClient& client, const HubPush& push)
      : client_(client), push_(push), where_{push.repo, "", ""} {}

  HubPushed run() {
    for (const HubPushFile& file : push_.files) files_.push_back(outgoing(file));
    for (const Outgoing& file : files_)
      if (file.file->path == "README.md") check_card(file.bytes());
    create();
    parent_ = client_.commit_of(where_);
    const std::vector<std::string> present = paths_at(parent_);
    ask_modes();
    upload_all();
    const bool has_weights = std::ranges::any_of(
        files_, [](const Outgoing& file) { return is_weights(file.file->path); });
    for (const std::string& path : present)
      if (has_weights && push_.replaces_weights && is_weights(path) && !is_pushed(path))
        out_.deleted.push_back(path);
    for (const Outgoing& file : files_)
      if (!file.is_ignored)
        (file.is_unchanged ? out_.unchanged : out_.sent).push_back(file.file->path);
    if (out_.sent.empty() && out_.deleted.empty()) {
      out_.commit = parent_;
      out_.url = client_.url(push_.repo.url_path());
      return out_;
    }
    commit();
    return out_;
  }

 private:
  bool is_pushed(const std::string& path) const {
    return std::ranges::any_of(files_,
                               [&](const Outgoing& file) { return file.file->path == path; });
  }

  // Sends JSON and returns the JSON of a successful response, or throws the error.
  Json post(const std::string& url, const Json& body, const char* type = "application/json") {
    const HttpAnswer answer = client_.send({.method = "POST",
                                            .url = url,
                                            .headers = {{"Content-Type", type}, {"Accept", type}},
                                            .body = body.dump(),
                                            .repeat = Repeat::safe});
    if (answer.status < 200 || answer.status > 299) client_.throw_refusal(answer, where_);
    return Json::parse_or_discard(answer.body);
  }

  // Lets the Hub check the metadata of README.md. Throws UsageError if it rejects them.
  void check_card(const std::string& card) {
    constexpr std::array kTypes{"model", "dataset", "space"};
    const HttpAnswer answer = client_.send(
        {.method = "POST",
         .url = client_.url("api/validate-yaml"),
         .headers = {{"Content-Type", "application/json"}},
         .body = Json{{"content", card},
                      {"repoType", kTypes.at(static_cast<std::size_t>(push_.repo.kind))}}
                     .dump(-1, ' ', false, JsonInvalidUtf8::replace),
         .repeat = Repeat::safe});
    if (answer.status == 400)
      throw UsageError(
          str("hub: README.md: the Hub rejects the metadata: ", client_.refusal_of(answer).message),
          "correct the lines between the two '---' of README.md");
    const Json json = Json::parse_or_discard(answer.body);
    if (!json.is_object() || !json.contains("warnings") || !json.at("warnings").is_array()) return;
    for (const Json& warning : json.at("warnings").elements())
      if (warning.is_object() && warning.contains("message"))
        log_warning("hub: README.md: {}", warning.at("message").dump());
  }

  void create() {
    const std::size_t slash = push_.repo.id.find('/');
    Json body{{"name", push_.repo.id.substr(slash + 1)},
              {"organization", push_.repo.id.substr(0, slash)}};
    if (push_.repo.kind != RepoKind::model)
      body["type"] = push_.repo.kind == RepoKind::dataset ? "dataset" : "space";
    if (push_.is_private) body["visibility"] = "private";
    const HttpAnswer answer = client_.send({.method = "POST",
                                            .url = client_.url("api/repos/create"),
                                            .headers = {{"Content-Type", "application/json"}},
                                            .body = body.dump(),
                                            .repeat = Repeat::safe});
    out_.is_new_repository = answer.status == 200 || answer.status == 201;
    if (out_.is_new_repository || answer.status == 409) return;
    // A token may be limited to this repository, so that it may not create any.
    if (answer.status == 403 &&
        client_.send({.url = client_.api_url(push_.repo, "")}).status == 200)
      return;
    client_.throw_refusal(answer, where_);
  }

  // Returns the paths of the files in the root folder of a commit.
  std::vector<std::string> paths_at(const std::string& commit) {
    std::vector<std::string> out;
    std::string url = client_.api_url(push_.repo, str("/tree/", commit, "?recursive=false"));
    while (!url.empty()) {
      const HttpAnswer answer = client_.send({.url = url});
      if (answer.status != 200) client_.throw_refusal(answer, where_);
      const Json entries = Json::parse_or_discard(answer.body);
      for (const Json& entry : entries.is_array() ? entries.elements() : Json::Array())
        out.push_back(text_in(entry, "path"));
      const std::string next = next_link(answer);
      if (next.empty()) break;
      const Url here = parse_url(url, "hub"), there = resolve_url(here, next);
      if (!there.same_server(here)) break;
      url = there.text();
    }
    return out;
  }

  // Asks which files belong into large-file storage and which the repository already has.
  void ask_modes() {
    for (std::size_t begin = 0; begin < files_.size(); begin += kFilesPerCall) {
      const std::size_t end = std::min(files_.size(), begin + kFilesPerCall);
      Json asked = Json::array();
      for (std::size_t i = begin; i < end; ++i)
        asked.push_back({{"path", files_[i].file->path},
                         {"sample", base64(files_[i].sample)},
                         {"size", files_[i].size}});
      const Json answer =
          post(client_.api_url(push_.repo, "/preupload/main"), Json{{"files", asked}});
      take_modes(answer, std::span(files_).subspan(begin, end - begin));
    }
  }

  void take_modes(const Json& answer, std::span<Outgoing> asked) try {
    std::map<std::string, Outgoing*> by_path;
    for (Outgoing& file : asked) by_path[file.file->path] = &file;
    for (const Json& mode : answer.at("files").elements()) {
      const auto found = by_path.find(mode.at("path").string());
      if (found == by_path.end()) continue;
      Outgoing& file = *found->second;
      by_path.erase(found);
      // Large-file storage takes no empty files.
      file.is_large = mode.at("uploadMode").string() == "lfs" && file.size > 0;
      file.is_ignored = mode.value("shouldIgnore", false);
      const auto oid = mode.find("oid");
      const bool exists = oid != mode.end() && oid->is_string();
      file.is_unchanged = exists && oid->string() == file.digest();
      if (file.is_large) file.digest();  // uploads are named by it
      if (file.is_ignored)
        log_warning("hub: {}: not published: .gitignore of the repository excludes it",
                    file.file->path);
    }
    if (!by_path.empty()) throw JsonError("a file is missing");
  } catch (const JsonError&) {
    throw SystemError(str("hub: ", where_.text(), ": the Hub's response is not valid"),
                      "check HF_ENDPOINT");
  }

  void upload_all() {
    std::map<std::string, const Outgoing*> by_oid;
    for (const Outgoing& file : files_)
      if (file.is_large && !file.is_unchanged && !file.is_ignored) by_oid[file.sha256] = &file;
    if (by_oid.empty()) return;
    Json objects = Json::array();
    for (const auto& [oid, file] : by_oid) objects.push_back({{"oid", oid}, {"size", file->size}});
    const Json answer = post(client_.url(str(push_.repo.url_path(), ".git/info/lfs/objects/batch")),
                             Json{{"operation", "upload"},
                                  {"transfers", {"basic", "multipart"}},
                                  {"objects", objects},
                                  {"hash_algo", "sha256"},
                                  {"ref", {{"name", "main"}}}},
                             "application/vnd.git-lfs+json");
    try {
      for (const Json& object : answer.at("objects").elements()) {
        const auto found = by_oid.find(object.at("oid").string());
        if (found == by_oid.end()) continue;
        if (const auto error = object.find("error"); error != object.end() && error->is_object())
          throw SystemError(str("hub: ", found->second->file->path,
                                ": the Hub refuses the upload: ", error->value("message", "")),
                            "run the command again later");
        if (object.contains("actions")) upload(*found->second, object.at("actions"));
        by_oid.erase(found);
      }
      if (!by_oid.empty()) throw JsonError("an object is missing");
    } catch (const JsonError&) {
      throw SystemError(str("hub: ", where_.text(), ": the Hub's response is not valid"),
                        "check HF_ENDPOINT");
    }
  }

  void upload(const Outgoing& file, const Json& actions) {
    const Json& action = actions.at("upload");
    const std::string href = action.at("href").string();
    log_info("hub: uploading {} ({})", file.file->path, bytes_text(static_cast<double>(file.size)));
    const auto header = action.find("header");
    if (header != action.end() && header->is_object() && header->contains("chunk_size"))
      upload_parts(file, href, *header);
    else
      put(file, href, 0, file.size);
    out_.bytes += file.size;
    if (const auto verify = actions.find("verify"); verify != actions.end()) {
      const std::string url = verify->at("href").string();
      // Only the Hub may ask for the token.
      if (parse_url(url, "hub").same_server(client_.settings().endpoint))
        post(url, Json{{"oid", file.sha256}, {"size", file.size}});
    }
  }

  // Sends a part of a file and returns its ETag.
  std::string put(const Outgoing& file, const std::string& url, std::uint64_t offset,
                  std::uint64_t size) {
    HttpRequest request{.method = "PUT", .url = url};
    if (file.file->local.empty())
      request.body = file.file->content.substr(offset, size);
    else
      request.upload = HttpFilePart{file.file->local, offset, size};
    const HttpAnswer answer = client_.send_elsewhere(request);
    if (answer.status < 200 || answer.status > 299)
      throw SystemError(str("hub: ", file.file->path, ": the upload failed: ",
                            parse_url(url, "hub").host, " returned HTTP status ", answer.status),
                        "run the command again: it continues with the files that are missing");
    return answer.header("etag");
  }

  void upload_parts(const Outgoing& file, const std::string& href, const Json& header) {
    const Json& size_of_part = header.at("chunk_size");  // text, or a number
    const std::string digits =
        size_of_part.is_string() ? size_of_part.string() : size_of_part.dump();
    std::uint64_t chunk = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), chunk);
    if (chunk == 0) throw JsonError("chunk_size is not a number");
    Progress progress(str("upload ", file.file->path), static_cast<std::int64_t>(file.size),
                      Progress::kBytes);
    Json parts = Json::array();
    for (std::uint64_t begin = 0, number = 1; begin < file.size; begin += chunk, ++number) {
      const std::uint64_t size = std::min(chunk, file.size - begin);
      const std::string etag = put(file, header.at(str(number)).string(), begin, size);
      parts.push_back({{"partNumber", number}, {"etag", etag}});
      progress.update(static_cast<std::int64_t>(begin + size));
    }
    const HttpAnswer answer =
        client_.send_elsewhere({.method = "POST",
                                .url = href,
                                .headers = {{"Content-Type", "application/vnd.git-lfs+json"}},
                                .body = Json{{"oid", file.sha256}, {"parts", parts}}.dump(),
                                .repeat = Repeat::safe});
    if (answer.status < 200 || answer.status > 299)
      throw SystemError(str("hub: ", file.file->path,
                            ": the upload could not be completed: HTTP "
                            "status ",
                            answer.status),
                        "run the command again");
  }

  std::string commit_body() const {
    std::string out =
        Json{
            {"key", "header"},
            {"value", {{"summary", push_.message}, {"description", ""}, {"parentCommit", parent_}}}}
            .dump() +
        "\n";
    for (const Outgoing& file : files_) {
      if (file.is_unchanged || file.is_ignored) continue;
      const Json value = file.is_large ? Json{{"path", file.file->path},
                                              {"algo", "sha256"},
                                              {"oid", file.sha256},
                                              {"size", file.size}}
                                       : Json{{"path", file.file->path},
                                              {"content", base64(file.bytes())},
                                              {"encoding", "base64"}};
      out += Json{{"key", file.is_large ? "lfsFile" : "file"}, {"value", value}}.dump() + "\n";
    }
    for (const std::string& path : out_.deleted)
      out += Json{{"key", "deletedFile"}, {"value", {{"path", path}}}}.dump() + "\n";
    return out;
  }

  void commit() {
    const std::string body = commit_body();
    for (int tries = 1;; ++tries) {
      std::string fault;
      std::optional<HttpAnswer> answer;
      try {
        answer = client_.send({.method = "POST",
                               .url = client_.api_url(push_.repo, "/commit/main"),
                               .headers = {{"Content-Type", "application/x-ndjson"}},
                               .body = body,
                               .repeats_refused = true});
      } catch (const SystemError& error) {
        fault = error_parts(error.what()).what;
      }
      if (answer) {
        const bool is_done = answer->status == 200 || answer->status == 201;
        if (is_done && take_commit(*answer)) return;
        // An earlier attempt, or one that a proxy repeated, may have made the commit.
        if (answer->status == 412 && was_made()) return;
        if (answer->status == 412) throw_changed();
        // send() has waited for the rate limit.
        if (!is_done && (!is_passing(answer->status) || answer->status == 429))
          client_.throw_refusal(*answer, where_);
        fault = is_done ? "the response is not valid" : str("HTTP status ", answer->status);
      }
      if (was_made()) return;  // the response was lost
      if (tries == kCommitTries)
        throw SystemError(str("hub: ", where_.text(), ": the commit failed: ", fault),
                          "run the command again: uploaded files are not sent again");
      client_.pause(std::chrono::milliseconds(1000 << tries));
    }
  }

  // Returns whether the response names the new commit.
  bool take_commit(const HttpAnswer& answer) {
    const Json json = Json::parse_or_discard(answer.body);
    out_.commit = text_in(json, "commitOid");
    out_.url = text_in(json, "commitUrl");
    return is_commit(out_.commit);
  }

  // Returns whether the commit was made although its response was lost: main has moved and contains
  // the changes. Throws UsageError if main has moved but does not contain them.
  bool was_made() {
    const std::string now = client_.commit_of(where_);
    if (now == parent_) return false;
    std::erase_if(files_, [](const Outgoing& file) { return file.is_ignored; });
    ask_modes();
    const std::vector<std::string> present = paths_at(now);
    if (!std::ranges::all_of(files_, &Outgoing::is_unchanged) ||
        std::ranges::any_of(out_.deleted, [&](const std::string& path) {
          return std::ranges::find(present, path) != present.end();
        }))
      throw UsageError(str("hub: ", where_.text(),
                           ": another commit was made, and the response to this push was lost: its "
                           "commit may have been made before"),
                       "look at the history of the repository, then run the command again");
    out_.commit = now;
    out_.url = client_.url(str(push_.repo.url_path(), "/commit/", now));
    return true;
  }

  [[noreturn]] void throw_changed() const {
    throw UsageError(str("hub: ", where_.text(),
                         ": another commit was made while the files were uploaded; nothing was "
                         "changed"),
                     "look at that commit, then run the command again; uploaded files are not sent "
                     "again");
  }

  HubClient& client_;
  const HubPush& push_;
  const HubPath where_;
  std::vector<Outgoing> files_;
  std::string parent_;
  HubPushed out_;
};

void require_token(const HubClient& client) {
  if (!client.has_token())
    throw UsageError("hub: no access token found",
                     "run `hf auth login`, or set HF_TOKEN to a token from the settings of your "
                     "account");
}

}  // namespace

void require_no_secret(std::string_view text, const std::string& name) {
  constexpr std::string_view kToken = "hf_";
  constexpr std::size_t kTokenLetters = 30;
  for (std::size_t at = 0; (at = text.find(kToken, at)) != std::string_view::npos; ++at) {
    std::size_t end = at + kToken.size();
    while (end < text.size() && std::isalnum(static_cast<unsigned char>(text[end])) != 0) ++end;
    if (end - at - kToken.size() >= kTokenLetters)
      throw UsageError(str("hub: ", name, ": contains an access token of the Hub"),
                       "remove the token from the file, and revoke it if it was published");
  }
  const std::size_t key = text.find("PRIVATE KEY-----");
  if (key != std::string_view::npos &&
      text.substr(0, key).rfind("-----BEGIN") != std::string_view::npos)
    throw UsageError(str("hub: ", name, ": contains a private key"),
                     "remove the key from the folder");
}

HubPushed push_to_hub(HubClient& client, const HubPush& push) {
  require_token(client);
  return Push(client, push).run();
}

std::string hub_readme(HubClient& client, const HubRepo& repo) {
  HttpRequest request{.url = client.url(str(repo.url_path(), "/resolve/main/README.md"))};
  const HttpAnswer answer = client.send(request);
  if (answer.status == 200) return answer.body;
  // A failure must not look like a missing card, which would be replaced by a new one.
  if (answer.status != 404 && client.refusal_of(answer).code != "RepoNotFound")
    client.throw_refusal(answer, {repo, "", "README.md"});
  return {};
}

HubAccount hub_account(HubClient& client) {
  require_token(client);
  const HttpAnswer answer = client.send({.url = client.url("api/whoami-v2")});
  if (answer.status == 401 || answer.status == 403)
    throw UsageError(
        str("hub: the Hub rejects the access token from ", client.settings().token_source),
        "create a token in the settings of your account, and run `hf auth login`, or "
        "set HF_TOKEN");
  if (answer.status != 200)
    throw SystemError(
        str("hub: ", client.settings().endpoint_text(), ": HTTP status ", answer.status),
        "run the command again later");
  try {
    const Json json = Json::parse(answer.body);
    HubAccount out{.name = json.value("name", ""), .role = "", .token_name = ""};
    if (const Json* token = json.pointer("/auth/accessToken"); token != nullptr) {
      out.role = token->value("role", "");
      out.token_name = token->value("displayName", "");
    }
    if (json.contains("orgs") && json.at("orgs").is_array())
      for (const Json& org : json.at("orgs").elements())
        out.organizations.push_back(org.value("name", ""));
    return out;
  } catch (const JsonError&) {
    throw SystemError(
        str("hub: ", client.settings().endpoint_text(), ": the response of whoami-v2 is not valid"),
        "check HF_ENDPOINT");
  }
}

}  // namespace smelt::io
