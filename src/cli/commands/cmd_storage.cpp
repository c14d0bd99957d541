#include "cli/commands/cmd_storage.h"

#include "cli/commands/cloud_line.h"
#include "cli/commands/storage_verbs.h"

namespace smelt {
namespace {

using StorageFlags = std::shared_ptr<StorageOptions>;
using StorageVerb = void (*)(const StorageOptions&);

// gsutil's verbs have flags -h and -r in common, which is no help there.
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
  auto* command = add_storage_verb(group, o, name, "make buckets", &make_buckets, "gs://BUCKET …");
  command->add_option("-l,--location", o->location, "as us-central1; default: Google's, US");
  command->add_option("-p,--project", o->project, "default: the one that smelt cloud whoami names");
  command->add_option("-c,-s,--default-storage-class", o->storage_class, "default: standard");
  command->add_option("-b", o->uniform, "on or off: one set of permissions for all of a bucket")
      ->capture_default_str();
  command->add_flag_callback(
      "--uniform-bucket-level-access", [o] { o->uniform = "on"; }, "as -b on");
}

void add_storage_list(CLI::App& group, const StorageFlags& o) {
  auto* command = add_storage_verb(group, o, "ls", "list buckets, or what is in one", &list_storage,
                                   "gs://…", false);
  command->add_flag("-l,--long", o->details, "with sizes and times");
  command->add_flag("-h,--readable-sizes", o->readable, "sizes as 1.5 GB");
  add_storage_recursive(*command, o, "all that is below");
  command->add_option("-p,--project", o->project, "whose buckets; default: smelt cloud whoami's");
  command->add_flag("--json", o->json, "one JSON object instead of lines");
}

void add_storage_usage(CLI::App& group, const StorageFlags& o) {
  auto* command =
      add_storage_verb(group, o, "du", "how many bytes there are", &show_usage, "gs://… …");
  command->add_flag("-s,--summarize", o->sums_only, "only the sum of each path");
  command->add_flag("-h,--readable-sizes", o->readable, "sizes as 1.5 GB");
  command->add_flag("-c,--total", o->total, "and the sum of all");
  command->add_flag("--json", o->json, "one JSON object instead of lines");
}

void add_storage_copies(CLI::App& group, const StorageFlags& o) {
  auto* copy = add_storage_verb(group, o, "cp", "copy files to, from and within gs://",
                                &copy_storage, "FROM… TO; patterns are taken");
  add_storage_recursive(*copy, o, "folders, too");
  auto* sync = add_storage_verb(group, o, "rsync", "copy what is not there, or is different there",
                                &sync_storage, "FROM TO, two folders");
  sync->get_option("paths")->expected(2);
  add_storage_recursive(*sync, o, "with what is in folders below");
  sync->add_flag("-d,--delete-unmatched-destination-objects", o->surplus,
                 "and remove from TO what FROM has not");
  add_ignored(*sync, {{"-c", false, "files are always told apart by their checksums"}});
  const char* dry_run = "say what would be done, and do nothing";
  copy->add_flag("--dry-run", o->dry_run, dry_run);  // gsutil's -n of cp is another
  sync->add_flag("-n,--dry-run", o->dry_run, dry_run);
}

void add_storage_remove(CLI::App& group, const StorageFlags& o) {
  auto* command = add_storage_verb(group, o, "rm", "delete files, folders and buckets",
                                   &remove_storage, "gs://… …; patterns are taken");
  add_storage_recursive(*command, o, "folders and buckets, with all that is in them");
  command->add_flag("--all", o->all, "also a bucket that holds something");
  command->add_flag("-f", o->force, "files that are not there are no error");
}

}  // namespace

void add_storage_command(CLI::App& app) {
  auto* group = app.add_subcommand(
      "storage", "copy, list and delete files on gs://, with the commands of gsutil");
  group->require_subcommand(1);
  auto o = std::make_shared<StorageOptions>();
  group->add_flag_callback("-m", [] {}, "taken: files always go side by side");
  group->add_flag("-q,--quiet", o->quiet, "print no more than is asked for");
  add_ignored(*group, {{"-o", true, "no setting of gsutil's has a meaning here"}});
  add_storage_make(*group, o, "mb");
  add_storage_list(*group, o);
  add_storage_usage(*group, o);
  add_storage_copies(*group, o);
  add_storage_remove(*group, o);
  auto* buckets = group->add_subcommand("buckets", "gcloud storage buckets create");
  buckets->require_subcommand(1);
  add_storage_make(*buckets, o, "create");
}

}  // namespace smelt
