#include "cli/cloud/job_results.h"

#include <algorithm>
#include <mutex>
#include <set>

#include "base/clock.h"
#include "base/error.h"
#include "base/plural.h"
#include "base/progress.h"
#include "base/stop_signal.h"
#include "checkpoint/storage/checkpoint.h"
#include "checkpoint/storage/layout.h"
#include "cloud/journal_object.h"
#include "cloud/storage_copy.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"

namespace smelt::cli {
namespace {

constexpr const char* kStagingNotice =
    "\nstopping before all data are in the bucket; a second signal ends at once\n";
constexpr const char* kFetchingNotice =
    "\nstopping before all results are copied; a second signal ends at once\n";

bool holds_run(const std::string& folder) {
  return io::exists(io::join_path(folder, ".stages")) || io::exists(io::join_path(folder, "model"));
}

// Returns true if the job with this spec is running: it has uploaded its files and has not ended.
bool goes_on(cloud::GoogleApi& api, const cloud::JobSpec& spec) {
  const auto kept = cloud::JournalObject(api, spec.folder).read();
  if (!kept) return false;
  const cloud::JobJournal job =
      cloud::parse_journal(*kept, io::join_path(spec.folder, cloud::kJournalName));
  return job.spec.run == spec.run && job.step != cloud::JobStep::stage &&
         job.step != cloud::JobStep::ended;
}

// Returns true for files that are not downloaded: text, training examples, lock files and all
// checkpoints but the newest. Eval sets are downloaded: they are small, and smelt eval needs them.
bool stays(const std::string& path, const std::optional<std::int64_t>& newest) {
  const auto is_in = [&](std::string_view folder) { return path.starts_with(folder); };
  if (is_in("text/") || path.find("smelt.lock") != std::string::npos) return true;
  if (is_in("data/")) return !path.substr(5).starts_with("heldout");
  return is_in("model/checkpoint") && newest &&
         checkpoint::step_of(io::path_name(io::parent_path(path))) != newest;
}

// Checks, at most every 30 seconds, that this process still leads the job. Any thread may call
// look().
class LeadWatch {
 public:
  explicit LeadWatch(const std::function<void()>& require_lead) : require_lead_(require_lead) {}
  void look() {
    const std::lock_guard lock(mutex_);
    if (seconds_since(asked_) < kEvery) return;
    require_lead_();
    asked_ = Clock::now();
  }

 private:
  static constexpr double kEvery = 30;  // seconds
  const std::function<void()>& require_lead_;
  std::mutex mutex_;
  Clock::time_point asked_ = Clock::now();
};

bool is_marker(const cloud::StoredFile& file) {
  return io::path_name(file.name) == checkpoint::kCommitFile;
}

void copy_all(cloud::StorageApi& api, const cloud::SyncPlan& plan) {
  cloud::copy_files(api, plan.copies, [](std::uint64_t /*bytes*/) {});
}

// Copies the run so that an interrupted copy never leaves an incomplete checkpoint.
void copy_run(cloud::StorageApi& api, std::vector<cloud::StoredFile> files,
              const std::string& out) {
  const auto markers = std::stable_partition(files.begin(), files.end(),
                                             [](const auto& file) { return !is_marker(file); });
  std::vector<cloud::StoredFile> last(markers, files.end());
  files.erase(markers, files.end());
  const cloud::SyncPlan plan =
      cloud::plan_sync(std::move(files), cloud::files_below(api, out), out);
  for (const cloud::CopyJob& job : plan.copies)
    if (checkpoint::is_checkpoint_path(io::parent_path(job.to)))
      io::remove_file(io::join_path(io::parent_path(job.to), checkpoint::kCommitFile));
  copy_all(api, plan);
  copy_all(api, cloud::plan_sync(std::move(last), cloud::files_below(api, out), out));
}

// Removes checkpoints in `out` that are older than the run's newest and that the run does not have.
// Checkpoints that a run in `out` writes meanwhile are newer and stay.
void drop_other_checkpoints(const std::vector<cloud::StoredFile>& run, std::int64_t newest,
                            const std::string& out,
                            const std::function<void(const std::string&)>& tell) {
  std::set<std::string> there;
  for (const cloud::StoredFile& file : run) there.insert(io::parent_path(file.name));
  const std::string model = io::join_path(out, "model");
  for (const std::string& name : io::list_folder(model)) {
    const auto step = checkpoint::step_of(name);
    if (!step || *step > newest || there.contains(io::join_path("model", name))) continue;
    tell(str("removing ", io::join_path(model, name), ": the job's run no longer has it"));
    checkpoint::remove_checkpoint(io::join_path(model, name));
  }
}

}  // namespace

void require_own_folder(cloud::GoogleApi& api, const std::string& out, const cloud::JobJournal& job,
                        const std::string& hint) {
  const std::string file = io::join_path(out, cloud::kJournalName);
  if (io::exists(file)) {
    const cloud::JobSpec here = cloud::parse_journal(io::read_file(file), file).spec;
    if (here.folder == job.spec.folder && here.run == job.spec.run) return;
    if (goes_on(api, here))
      throw UsageError(str(out, ": contains the journal of the running job ", here.folder),
                       str("smelt cloud watch ", here.folder, " monitors it (add --end to stop it)",
                           "; for another job use ", hint));
  }
  if (holds_run(out))
    throw UsageError(str(out, ": contains another run than that of job ", job.spec.folder,
                         ", whose results would overwrite it"),
                     str("use ", hint, ", or move that run"));
}

void require_no_newer(const cloud::JobSpec& spec, const std::string& out, const std::string& hint) {
  const auto here = checkpoint::latest_checkpoint(io::join_path(out, "model"));
  const auto there = checkpoint::latest_checkpoint(io::join_path(spec.folder, "run/model"));
  if (!here || (there && *here <= *there)) return;
  throw UsageError(str(out, ": the local run has a checkpoint of step ", *here, ", and the job in ",
                       spec.folder, there ? str(" one of step ", *there) : " has none",
                       ": its results would overwrite newer ones"),
                   hint);
}

void require_no_input(cloud::GoogleApi& api, const std::string& folder) {
  const std::string input = io::join_path(folder, "input");
  cloud::StorageApi storage(api);
  const auto files = cloud::files_below(storage, input);
  if (!files.empty())
    throw UsageError(str(input, ": contains files that were not uploaded by a job, such as ",
                         files.front().name, "; a job would delete them"),
                     "use another folder with --name NAME, or move the files");
}

void stage_files(cloud::GoogleApi& api, const std::vector<StagedFile>& files,
                 const std::string& folder, const std::function<void(const std::string&)>& tell,
                 const std::function<void()>& require_lead) {
  const StopSignal::Notice notice(kStagingNotice);
  const std::string input = io::join_path(folder, "input");
  std::vector<cloud::StoredFile> here;
  for (const StagedFile& file : files)
    here.push_back({file.to.substr(input.size() + 1), file.from, io::file_size(file.from)});
  cloud::StorageApi storage(api);
  const auto planned = [&] {
    return cloud::plan_sync(here, cloud::files_below(storage, input), input);
  };
  const cloud::SyncPlan plan = planned();
  require_lead();
  cloud::remove_stored(storage, plan.surplus);  // files of an earlier attempt
  std::uint64_t bytes = 0;
  for (const cloud::CopyJob& job : plan.copies) bytes += job.from.size;
  if (!plan.copies.empty())
    tell(str("copying ", counted(plan.copies.size(), "file"), ", ",
             bytes_text(static_cast<double>(bytes)), ", to ", input));
  LeadWatch lead(require_lead);
  cloud::copy_files(storage, plan.copies, [&](std::uint64_t) { lead.look(); });
  require_lead();
  if (plan.copies.empty()) return;
  // A process that has lost the lease meanwhile may have finished copying a file.
  const cloud::SyncPlan again = planned();
  cloud::remove_stored(storage, again.surplus);
  copy_all(storage, again);
}

void fetch_results(cloud::GoogleApi& api, const cloud::JobSpec& spec, const std::string& out,
                   const std::function<void(const std::string&)>& tell) {
  const StopSignal::Notice notice(kFetchingNotice);
  require_no_newer(
      spec, out,
      str("smelt cloud watch ", spec.folder, " --out FOLDER copies them to another folder"));
  const std::string run = io::join_path(spec.folder, "run");
  const auto newest = checkpoint::latest_checkpoint(io::join_path(run, "model"));
  tell(str("copying results to ", out));
  cloud::StorageApi storage(api);
  const std::vector<cloud::StoredFile> all = cloud::files_below(storage, run);
  std::vector<cloud::StoredFile> wanted;
  std::ranges::copy_if(all, std::back_inserter(wanted), [&](const cloud::StoredFile& file) {
    return !file.is_placeholder() && !stays(file.name, newest);
  });
  copy_run(storage, std::move(wanted), out);
  if (newest) drop_other_checkpoints(all, *newest, out, tell);
}

}  // namespace smelt::cli
