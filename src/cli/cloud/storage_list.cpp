// Lists buckets, files and their sizes.
#include <iomanip>
#include <iostream>

#include "base/error.h"
#include "base/json.h"
#include "base/plural.h"
#include "base/progress.h"
#include "cli/cloud/storage_verbs.h"
#include "cloud/storage_files.h"
#include "cloud/whoami.h"

namespace smelt::cli {
namespace {

std::string shown_size(const StorageOptions& o, std::uint64_t bytes) {
  return o.readable ? bytes_text(static_cast<double>(bytes)) : str(bytes);
}

void print_buckets(const StorageOptions& o) {
  cloud::GoogleApi api = cloud::storage_connection();
  const auto buckets = cloud::StorageApi(api).buckets(cloud::project_of(o.project, api));
  if (o.json) {
    std::cout << OrderedJson{{"buckets", buckets}}.dump() << "\n";
    return;
  }
  for (const std::string& bucket : buckets) std::cout << "gs://" << bucket << "/\n";
}

void print_entry(const StorageOptions& o, const cloud::StorageEntry& entry) {
  if (!o.details) {
    std::cout << entry.path << "\n";
    return;
  }
  const bool is_folder = entry.path.ends_with('/');
  std::cout << std::setw(12) << (is_folder ? "" : shown_size(o, entry.size)) << "  "
            << std::setw(24) << entry.updated << "  " << entry.path << "\n";
}

OrderedJson json_of(const cloud::StorageEntry& entry) {
  if (entry.path.ends_with('/')) return {{"path", entry.path}, {"folder", true}};
  return {
      {"path", entry.path}, {"folder", false}, {"bytes", entry.size}, {"updated", entry.updated}};
}

}  // namespace

void list_storage(const StorageOptions& o) {
  if (o.paths.empty()) return print_buckets(o);
  cloud::StorageConnections connections;
  OrderedJson entries = OrderedJson::array();
  std::uint64_t bytes = 0;
  std::size_t files = 0;
  for (const std::string& path : o.paths) {
    cloud::StorageApi api(connections.of(path));
    for (const cloud::StorageEntry& entry : cloud::list_entries(api, path, o.recursive)) {
      bytes += entry.size;
      files += entry.path.ends_with('/') ? 0 : 1;
      if (o.json)
        entries.push_back(json_of(entry));
      else
        print_entry(o, entry);
    }
  }
  if (o.json) std::cout << OrderedJson{{"entries", entries}}.dump() << "\n";
  if (o.details && !o.json)
    std::cout << "total: " << counted(files, "file") << ", " << shown_size(o, bytes)
              << (o.readable ? "" : " bytes") << "\n";
}

void show_usage(const StorageOptions& o) {
  cloud::StorageConnections connections;
  OrderedJson all = OrderedJson::array();
  std::uint64_t total = 0;
  const auto print = [&](std::uint64_t bytes, const std::string& path) {
    if (!o.json) std::cout << std::left << std::setw(12) << shown_size(o, bytes) << path << "\n";
  };
  for (const std::string& path : o.paths) {
    std::uint64_t bytes = 0;
    std::size_t files = 0;
    cloud::StorageApi api(connections.of(path));
    for (const cloud::StorageEntry& entry : cloud::list_entries(api, path, true)) {
      bytes += entry.size;
      ++files;
      if (!o.sums_only) print(entry.size, entry.path);
    }
    if (o.sums_only || files != 1) print(bytes, path);
    all.push_back({{"path", path}, {"files", files}, {"bytes", bytes}});
    total += bytes;
  }
  if (o.total) print(total, "total");
  if (o.json) std::cout << OrderedJson{{"usage", all}, {"bytes", total}}.dump() << "\n";
}

}  // namespace smelt::cli
