#include "cli/cloud/cmd_storage.h"

#include "cli/cloud/cloud_line.h"
#include "cli/cloud/storage_verbs.h"

namespace smelt::cli {
namespace {

using StorageFlags = std::shared_ptr<StorageOptions>;
using StorageVerb = void (*)(const StorageOptions&);

// Adds a gsutil command. Only --help shows its help, because gsutil's -h has another meaning.
CLI::App* add_storage_verb(CLI::App& group, const StorageFlags& o, const char* name,
                           const char* help, StorageVerb verb, const char* paths,
                           bool needs_paths = true) {
  auto* command = group.add_subcommand(name, help);
  command->set_help_flag("--help", "Print this help message and exit");
  auto* positional = command->add_option("paths", o->paths, paths);
  if (needs_paths) positional->required();
  command->callback([o, verb] { verb(*o); });
  return command;
}

void add_storage_recursive(CLI::App& command, const StorageFlags& o, const char* help) {
  command.add_flag("-r,-R,--recursive", o->recursive, help);
}

void add_storage_make(CLI::App& group, const StorageFlags& o, const char* name) {
  auto* command =
      add_storage_verb(group, o, name, "create buckets", &make_buckets, "gs://BUCKET …");
  command->add_option("-l,--location", o->location, "location, such as us-central1; default: US");
  command->add_option("-p,--project", o->project, "project; default: see smelt cloud whoami");
  command->add_option("-c,-s,--default-storage-class", o->storage_class,
                      "storage class; default: standard");
  command->add_option("-b", o->uniform, "on or off: uniform bucket-level access")
      ->capture_default_str();
  command->add_flag_callback(
      "--uniform-bucket-level-access", [o] { o->uniform = "on"; }, "same as -b on");
}

void add_storage_list(CLI::App& group, const StorageFlags& o) {
  auto* command = add_storage_verb(group, o, "ls", "list buckets, or the contents of a bucket",
                                   &list_storage, "gs://…", false);
  command->add_flag("-l,--long", o->details, "show sizes and times");
  command->add_flag("-h,--readable-sizes", o->readable, "show sizes such as 1.5 GB");
  add_storage_recursive(*command, o, "also list subfolders");
  command->add_option("-p,--project", o->project,
                      "project of the buckets; default: see smelt cloud whoami");
  command->add_flag("--json", o->json, "print one JSON object instead of lines");
}

void add_storage_usage(CLI::App& group, const StorageFlags& o) {
  auto* command =
      add_storage_verb(group, o, "du", "show the total size of files", &show_usage, "gs://… …");
  command->add_flag("-s,--summarize", o->sums_only, "show only the total of each path");
  command->add_flag("-h,--readable-sizes", o->readable, "show sizes such as 1.5 GB");
  command->add_flag("-c,--total", o->total, "also show the total of all paths");
  command->add_flag("--json", o->json, "print one JSON object instead of lines");
}

void add_storage_copies(CLI::App& group, const StorageFlags& o) {
  auto* copy = add_storage_verb(group, o, "cp", "copy files to, from and within gs://",
                                &copy_storage, "FROM… TO; wildcards are allowed");
  add_storage_recursive(*copy, o, "also copy folders");
  auto* sync =
      add_storage_verb(group, o, "rsync", "copy files that are missing or different in the target",
                       &sync_storage, "FROM TO, two folders");
  sync->get_option("paths")->expected(2);
  add_storage_recursive(*sync, o, "include subfolders");
  sync->add_flag("-d,--delete-unmatched-destination-objects", o->surplus,
                 "also delete files in TO that FROM does not have");
  add_ignored(*sync, {{"-c", false, "smelt always compares checksums"}});
  const char* dry_run = "show what would be done without doing it";
  copy->add_flag("--dry-run", o->dry_run, dry_run);  // gsutil's cp -n has another meaning
  sync->add_flag("-n,--dry-run", o->dry_run, dry_run);
}

void add_storage_remove(CLI::App& group, const StorageFlags& o) {
  auto* command = add_storage_verb(group, o, "rm", "delete files, folders and buckets",
                                   &remove_storage, "gs://… …; wildcards are allowed");
  add_storage_recursive(*command, o, "also delete folders and buckets with their contents");
  command->add_flag("--all", o->all, "also delete buckets that are not empty");
  command->add_flag("-f", o->force, "missing files are not an error");
}

}  // namespace

void add_storage_command(CLI::App& app) {
  auto* group = app.add_subcommand(
      "storage", "copy, list and delete files on gs://, with the commands of gsutil");
  group->require_subcommand(1);
  auto o = std::make_shared<StorageOptions>();
  group->add_flag_callback("-m", [] {}, "accepted: files are always copied in parallel");
  group->add_flag("-q,--quiet", o->quiet, "print only the requested output");
  add_ignored(*group, {{"-o", true, "smelt uses no gsutil settings"}});
  add_storage_make(*group, o, "mb");
  add_storage_list(*group, o);
  add_storage_usage(*group, o);
  add_storage_copies(*group, o);
  add_storage_remove(*group, o);
  auto* buckets = group->add_subcommand("buckets", "gcloud storage buckets create");
  buckets->require_subcommand(1);
  add_storage_make(*buckets, o, "create");
}

}  // namespace smelt::cli
