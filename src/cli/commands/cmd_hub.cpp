#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>

#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/plural.h"
#include "base/progress.h"
#include "checkpoint/interop/pretrained_weights.h"
#include "cli/commands/commands.h"
#include "cli/commands/model_card.h"
#include "cli/options/json_output.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"
#include "io/hub/hub_files.h"
#include "io/hub/hub_push.h"

namespace smelt::cli {
namespace {

struct DownloadFlags {
  std::string repo, revision, output;
  std::vector<std::string> include, exclude;
  bool json = false;
};

// Returns whether a file is selected: by any pattern of `include`, if there are some, and by none
// of `exclude`. A pattern without '/' also selects files in subfolders.
bool is_selected(const DownloadFlags& f, const std::string& path) {
  const auto matches = [&](const std::string& pattern) {
    return io::matches_hub_pattern(pattern, path) ||
           (pattern.find('/') == std::string::npos &&
            io::matches_hub_pattern("**/" + pattern, path));
  };
  return (f.include.empty() || std::ranges::any_of(f.include, matches)) &&
         std::ranges::none_of(f.exclude, matches);
}

// Copies a downloaded file unless the target has the same size and checksum.
void copy_download(const std::string& from, const std::string& to, const io::HubFile& file) {
  if (io::exists(to) && io::file_size(to) == file.size && !file.digest.hex.empty() &&
      io::digest_of_file(to, file.digest.is_sha256) == file.digest)
    return;
  io::copy_file(from, to);
}

OrderedJson run_download(const DownloadFlags& f) {
  io::HubPath path = io::parse_repo(f.repo, "hub download");
  if (!f.revision.empty() && !path.revision.empty())
    throw UsageError(str("hub download: --revision ", f.revision, " and '@", path.revision,
                         "' both name a revision"),
                     "remove one of them");
  if (!f.revision.empty())
    path = io::parse_hub_path(path.at_revision(f.revision).text());  // refuses "../x"
  const io::HubCommit commit = io::hub_commit(path);
  std::vector<std::string> files;
  std::uint64_t bytes = 0;
  std::string folder = f.output;
  const io::HubFiles all = io::hub_files_below(commit, "");
  for (const auto& [name, file] : all) {
    if (!is_selected(f, name)) continue;
    const std::string local = io::hub_file_of(commit, name);
    if (f.output.empty())
      folder = local.substr(0, local.size() - name.size() - 1);
    else
      copy_download(local, io::join_path(f.output, name), file);
    files.push_back(name);
    bytes += file.size;
  }
  if (files.empty())
    throw UsageError(str("hub download: no file of ", path.text(), " is selected, of ",
                         counted(all.size(), "file")),
                     "check --include and --exclude");
  if (!f.json) std::cout << folder << "\n";
  log_info("hub: {} of {} ({})", counted(files.size(), "file"), commit.path.text(),
           bytes_text(static_cast<double>(bytes)));
  return {{"repo", path.repo.url_path()},
          {"commit", commit.commit},
          {"path", folder},
          {"files", files},
          {"bytes", bytes}};
}

void add_hub_download(CLI::App& group) {
  auto f = std::make_shared<DownloadFlags>();
  auto* command = group.add_subcommand(
      "download", "download a repository into the cache that is shared with Python");
  command->add_option("repo", f->repo, "ORG/NAME of a model, or hf://datasets/ORG/NAME")
      ->required();
  command->add_option("--revision", f->revision, "branch, tag or commit; default: main");
  command->add_option("--include", f->include,
                      "only files that match this pattern, such as '*.safetensors'; may be given "
                      "several times");
  command->add_option("--exclude", f->exclude,
                      "no files that match this pattern; may be given several times");
  command->add_option("--output", f->output,
                      "folder to which the files are copied; default: only into the cache");
  add_json_flag(*command, f->json);
  command->callback([f] { print_result(f->json, [&] { return run_download(*f); }); });
}

OrderedJson run_whoami(bool json) {
  io::HubClient client(io::hub_settings(), io::HubPatience::patient, io::TokenUse::asked);
  const io::HubAccount account = io::hub_account(client);
  if (!json) {
    std::cout << account.name << "\n";
    if (!account.organizations.empty())
      std::cout << "organizations: " << join(account.organizations, ", ") << "\n";
    std::cout << "token: " << account.token_name << ", may " << account.role << ", from "
              << client.settings().token_source << "\n";
  }
  return {{"name", account.name},
          {"organizations", account.organizations},
          {"token", account.token_name},
          {"role", account.role},
          {"source", client.settings().token_source},
          {"endpoint", client.settings().endpoint_text()}};
}

void add_hub_whoami(CLI::App& group) {
  auto json = std::make_shared<bool>(false);
  auto* command =
      group.add_subcommand("whoami", "show the account and the permissions of the access token");
  add_json_flag(*command, *json);
  command->callback([json] { print_result(*json, [&] { return run_whoami(*json); }); });
}

struct PushFlags {
  std::string folder, repo, message, license, language;
  bool is_public = false, keeps_weights = false, json = false;
};

// Adds the files of a folder and its subfolders, without hidden files and smelt's own.
void add_folder(const std::string& folder, const std::string& prefix,
                std::vector<io::HubPushFile>& out) {
  for (const std::string& name : io::list_folder(folder)) {
    const std::string path = io::join_path(folder, name);
    const bool is_hidden = name.starts_with('.');
    if (is_hidden || name == "smelt.lock" || name == "__pycache__" || io::place_of_partial(name))
      continue;
    if (io::is_folder(path))
      add_folder(path, str(prefix, name, "/"), out);
    else
      out.push_back({str(prefix, name), path});
  }
}

// Returns the files to publish. The card is README.md of the folder, else that of the repository,
// each with the metadata that it lacks, else a new one.
std::vector<io::HubPushFile> files_to_push(const PushFlags& f, const io::HubRepo& repo,
                                           io::HubClient& client) {
  if (io::is_remote(f.folder))
    throw UsageError(str("hub push: ", f.folder, ": expected a folder on this machine"),
                     "copy it to a local folder first");
  const std::string model = checkpoint::exported_of(f.folder);
  std::vector<io::HubPushFile> files;
  if (!io::is_folder(model))
    throw UsageError(str("hub push: ", f.folder, ": folder not found"), "check the path");
  add_folder(model, "", files);
  if (repo.kind != io::RepoKind::model) return files;
  if (!io::exists(io::join_path(model, "config.json")))
    throw UsageError(
        str("hub push: ", model, ": has no config.json, expected a Hugging Face folder"),
        str("write one with smelt convert ", f.folder, " FOLDER --to hf"));
  const auto readme = std::ranges::find(files, "README.md", &io::HubPushFile::path);
  const std::string before = readme != files.end()
                                 ? io::read_file(readme->local, io::kSmallFileBytes)
                                 : io::hub_readme(client, repo);
  CardFacts facts = card_facts(model, model == f.folder ? "" : f.folder, repo.id);
  facts.license = f.license;
  facts.language = f.language;
  if (f.license.empty() && before.find("license:") == std::string::npos)
    log_warning("hub push: the model card names no license: add --license, such as apache-2.0");
  if (!facts.metrics.empty() && before.find("model-index:") != std::string::npos)
    log_warning("hub push: the model card keeps its model-index, maybe of an earlier evaluation");
  if (readme != files.end()) files.erase(readme);
  files.push_back({"README.md", "", model_card(facts, before)});
  return files;
}

OrderedJson run_push(const PushFlags& f) {
  const io::HubPath path = io::parse_repo(f.repo, "hub push");
  if (!path.revision.empty())
    throw UsageError(str("hub push: ", f.repo, ": smelt publishes on the branch main only"),
                     "remove the revision behind '@'");
  io::HubClient client(io::hub_settings(), io::HubPatience::patient, io::TokenUse::asked);
  if (!client.has_token()) io::hub_account(client);  // throws the error before files are read
  const io::HubPushed done = io::push_to_hub(
      client, {.repo = path.repo,
               .files = files_to_push(f, path.repo, client),
               .message = f.message,
               .is_private = !f.is_public,
               .replaces_weights = !f.keeps_weights && path.repo.kind == io::RepoKind::model});
  for (const std::string& name : done.deleted) log_info("hub: deleted {}", name);
  log_info("hub: {}{} sent, {} unchanged, commit {}",
           done.is_new_repository ? "new repository; " : "", counted(done.sent.size(), "file"),
           done.unchanged.size(), done.commit);
  if (!f.json) std::cout << done.url << "\n";
  return {{"repo", path.repo.id},    {"commit", done.commit},
          {"url", done.url},         {"new", done.is_new_repository},
          {"sent", done.sent},       {"unchanged", done.unchanged},
          {"deleted", done.deleted}, {"uploaded_bytes", done.bytes}};
}

void add_hub_push(CLI::App& group) {
  auto f = std::make_shared<PushFlags>();
  auto* command = group.add_subcommand(
      "push", "publish a model folder on the Hub, as one commit; a new repository is private");
  command->add_option("folder", f->folder, "a Hugging Face folder, or a run folder that has one")
      ->required();
  command->add_option("repo", f->repo, "ORG/NAME; created if it does not exist")->required();
  command->add_option("--message", f->message, "subject of the commit")
      ->default_str("Upload a model with smelt");
  f->message = "Upload a model with smelt";
  command->add_flag("--public", f->is_public, "make a new repository public");
  command->add_option("--license", f->license, "license for the model card, such as apache-2.0");
  command->add_option("--language", f->language, "language for the model card, such as de");
  command->add_flag("--keep-weights", f->keeps_weights,
                    "keep weights of the repository that the folder does not have");
  add_json_flag(*command, f->json);
  command->callback([f] { print_result(f->json, [&] { return run_push(*f); }); });
}

}  // namespace

void add_hub_command(CLI::App& app) {
  auto* group = app.add_subcommand(
      "hub", "download models and datasets of the Hugging Face Hub, and publish models");
  group->require_subcommand(1);
  add_hub_download(*group);
  add_hub_whoami(*group);
  add_hub_push(*group);
}

}  // namespace smelt::cli
