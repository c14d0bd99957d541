// The commands of `smelt storage`.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace smelt::cli {

struct StorageOptions {
  std::vector<std::string> paths;  // for cp and rsync the target is last
  std::string project, location, storage_class;
  std::string uniform = "on";
  bool recursive = false, all = false, force = false, surplus = false, dry_run = false;
  bool quiet = false, details = false, readable = false, sums_only = false, total = false;
  bool json = false;
};

void make_buckets(const StorageOptions& o);
void list_storage(const StorageOptions& o);
void show_usage(const StorageOptions& o);
void copy_storage(const StorageOptions& o);
void sync_storage(const StorageOptions& o);
void remove_storage(const StorageOptions& o);

}  // namespace smelt::cli
