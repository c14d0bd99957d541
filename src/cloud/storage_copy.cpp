#include "cloud/storage_copy.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/parallel.h"
#include "base/stop_signal.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"
#include "io/formats/crc32c.h"

namespace smelt::cloud {
namespace {

constexpr int kFilesAtOnce = 16;
constexpr std::size_t kPiece = std::size_t{1} << 20;

// Returns the local path of an object. Throws UsageError for object names that are not valid paths,
// or that lead out of the folder.
std::string local_place(const std::string& folder, const std::string& name) {
  for (const std::string_view part : split(name, '/'))
    if (part.empty() || part == "." || part == ".." || part.find('\0') != std::string_view::npos)
      throw UsageError(str("storage: the object name '", name, "' is not a valid file name"),
                       "copy it separately, to a name of your choice");
  return io::join_path(folder, name);
}

std::string place_below(const std::string& base, const std::string& name) {
  if (name.empty()) return base;
  return io::is_remote(base) ? io::join_path(base, name) : local_place(base, name);
}

template <class Use>
std::uint32_t read_pieces(const std::string& path, const Use& use) {
  io::InputFile file(path);
  std::vector<char> piece(kPiece);
  std::uint32_t crc = 0;
  while (const std::size_t size = file.read(piece)) {
    if (StopSignal::raised()) throw Stopped("storage: interrupted; the same command continues");
    const std::string_view bytes(piece.data(), size);
    crc = io::crc32c(bytes, crc);
    use(bytes);
  }
  return crc;
}

[[noreturn]] void throw_damaged(const std::string& path, const std::string& want,
                                const std::string& got) {
  throw SystemError(str("storage: ", path, ": its CRC-32C is ", got, ", expected ", want,
                        "; the copy was removed"),
                    "run it again");
}

// Copies a file and returns the checksum of what was sent.
std::string send_file(const CopyJob& job, const std::function<void(std::uint64_t)>& copied) {
  if (io::is_remote(job.from.path) && io::is_remote(job.to)) {
    io::share_file(job.from.path, job.to);
    copied(job.from.size);
    return job.from.crc32c;
  }
  io::OutputFile out(job.to);
  const std::string crc = crc32c_text(read_pieces(job.from.path, [&](std::string_view bytes) {
    out.write(bytes);
    copied(bytes.size());
  }));
  if (!job.from.crc32c.empty() && crc != job.from.crc32c)
    throw_damaged(job.to, job.from.crc32c, crc);
  out.commit();
  return crc;
}

// Checks an upload. Called right after it, so that a later overwrite by others is not mistaken for
// an error.
void check_arrived(StorageApi& api, const std::string& to, const std::string& sent) {
  const GsPath path = parse_gs(to);
  const auto there = api.look(path.bucket, path.key);
  if (!there)
    throw SystemError(str("storage: ", to, " was sent, but does not exist"), "run it again");
  if (sent.empty() || there->crc32c.empty() || there->crc32c == sent) return;
  api.remove_seen(path.bucket, *there);
  throw_damaged(to, sent, there->crc32c);
}

// Computes the checksums of local files.
void fill_in_checksums(const std::vector<StoredFile*>& files) {
  run_each(files.size(), available_threads(), [&](std::size_t i) {
    files[i]->crc32c = crc32c_text(read_pieces(files[i]->path, [](std::string_view /*bytes*/) {}));
  });
}

void check_folders(StorageApi& api, const std::string& from, const std::string& to) {
  if (!is_storage_folder(api, from))
    throw UsageError(str("storage rsync: ", from, " is not a folder"),
                     "smelt storage cp copies files");
  if (!io::is_remote(from) && !io::is_remote(to))
    throw UsageError(str("storage rsync: neither ", from, " nor ", to, " is on gs://"),
                     str("rsync -r ", from, "/ ", to));
  if (io::is_path_inside(to, from) || io::is_path_inside(from, to))
    throw UsageError(str("storage rsync: one of ", from, " and ", to, " contains the other"),
                     "use two separate folders");
}

void check_places(const std::vector<CopyJob>& jobs) {
  std::map<std::string, const CopyJob*> taken;
  for (const CopyJob& job : jobs) {
    const auto [first, is_new] = taken.emplace(job.to, &job);
    if (!is_new)
      throw UsageError(str("storage cp: ", first->second->from.path, " and ", job.from.path,
                           " would both become ", job.to),
                       "copy them separately, to two names");
  }
}

}  // namespace

std::vector<CopyJob> plan_copies(StorageApi& api, const std::vector<FileSource>& sources,
                                 const std::string& target) {
  const bool into = sources.size() > 1 || target.ends_with('/') || is_storage_folder(api, target);
  const std::string place = storage_place(target);
  std::vector<CopyJob> jobs;
  for (const FileSource& source : sources) {
    const std::string base = into ? place_below(place, source.root) : place;
    for (const StoredFile& file : source.files) {
      if (file.is_placeholder()) continue;
      jobs.push_back({file, place_below(base, file.name)});
      if (!io::is_remote(file.path) && !io::is_remote(target))
        throw UsageError(str("storage: neither ", file.path, " nor ", target, " is on gs://"),
                         str("cp -r ", file.path, " ", target));
    }
  }
  check_places(jobs);
  return jobs;
}

SyncPlan plan_sync(StorageApi& source, const std::string& from, StorageApi& target,
                   const std::string& to, Below below) {
  check_folders(source, from, to);
  const auto is_deeper = [&](const std::string& name) {
    return below == Below::this_folder && name.find('/') != std::string::npos;
  };
  const auto taken = [&](std::vector<StoredFile> files) {
    std::erase_if(files, [&](const StoredFile& file) {
      return file.is_placeholder() || is_deeper(file.name);
    });
    return files;
  };
  std::vector<std::string> left_out;
  auto sources = taken(files_below(source, from, &left_out));
  SyncPlan plan = plan_sync(std::move(sources), taken(files_below(target, to)), storage_place(to));
  std::erase_if(left_out, is_deeper);
  plan.left_out = std::move(left_out);
  return plan;
}

SyncPlan plan_sync(std::vector<StoredFile> sources, std::vector<StoredFile> targets,
                   const std::string& to) {
  std::map<std::string, StoredFile*> there;
  for (StoredFile& file : targets) there[file.name] = &file;
  const auto twin = [&](const StoredFile& file) {
    const auto found = there.find(file.name);
    return found != there.end() && found->second->size == file.size ? found->second : nullptr;
  };
  std::vector<StoredFile*> unknown;
  for (StoredFile& file : sources)
    if (StoredFile* other = twin(file))
      for (StoredFile* each : {&file, other})
        if (!io::is_remote(each->path)) unknown.push_back(each);
  fill_in_checksums(unknown);
  SyncPlan plan;
  for (const StoredFile& file : sources) {
    const StoredFile* other = twin(file);
    const bool is_alike = other != nullptr && !file.crc32c.empty() && other->crc32c == file.crc32c;
    plan.unchanged += is_alike ? 1 : 0;
    if (!is_alike) plan.copies.push_back({file, place_below(to, file.name)});
    there.erase(file.name);
  }
  for (const auto& [name, file] : there) plan.surplus.push_back(*file);
  return plan;
}

void copy_files(StorageApi& api, const std::vector<CopyJob>& jobs,
                const std::function<void(std::uint64_t)>& copied) {
  api.side_by_side(jobs.size(), kFilesAtOnce, [&](StorageApi& own, std::size_t i) {
    const std::string sent = send_file(jobs[i], copied);
    if (io::is_remote(jobs[i].to)) check_arrived(own, jobs[i].to, sent);
  });
}

void remove_stored(StorageApi& api, const std::vector<StoredFile>& files) {
  std::map<std::string, std::vector<std::string>> of_buckets;
  for (const StoredFile& file : files) {
    if (!io::is_remote(file.path)) {
      io::remove_file(file.path);
      continue;
    }
    const GsPath path = parse_gs(file.path);
    of_buckets[path.bucket].push_back(path.key);
  }
  for (const auto& [bucket, names] : of_buckets) api.remove(bucket, names);
}

}  // namespace smelt::cloud
