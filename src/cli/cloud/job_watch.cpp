#include "cli/cloud/job_watch.h"

#include <unistd.h>

#include <chrono>
#include <ctime>
#include <iomanip>
#include <iostream>
#include <sstream>
#include <utility>

#include "base/duration.h"
#include "base/error.h"
#include "base/exit_status.h"
#include "base/stop_signal.h"
#include "checkpoint/storage/checkpoint.h"
#include "cli/cloud/job_options.h"
#include "cli/cloud/job_results.h"
#include "cloud/job_shell.h"
#include "cloud/journal_object.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"

namespace smelt::cli {
namespace {

// Writes the journal to the bucket first, because that copy is authoritative, then to the local
// folder.
class BothJournals : public cloud::JobStore {
 public:
  BothJournals(cloud::GoogleApi& api, const std::string& folder, const std::string& out)
      : there_(api, folder), here_(io::join_path(out, cloud::kJournalName)) {}
  std::optional<std::string> read() override { return there_.read(); }
  bool write(const std::string& text) override {
    if (!there_.write(text)) return false;
    try {
      io::write_file(here_, text);
    } catch (const Error& error) {  // a full local disk must not stop the training
      if (!std::exchange(warned_, true)) std::cerr << "warning: " << error.what() << "\n";
    }
    return true;
  }

 private:
  cloud::JournalObject there_;
  std::string here_;
  bool warned_ = false;
};

std::string this_process() {
  std::string host(256, '\0');
  ::gethostname(host.data(), host.size() - 1);
  return str("process ", ::getpid(), " on ", host.c_str(), ", ",
             static_cast<long long>(seconds_now()));
}

constexpr const char* kNotice =
    "\nstopping: the machine keeps running for a while; a second signal ends at once\n";

// Runs the job to its end. If a signal stops this process, the message explains the job's state.
void run_to_end(cloud::Job& job, const JobLead& lead) try {
  if (lead.end) job.end("asked", "stopped by the user");
  job.run();
} catch (const cloud::JobTakenOver&) {
  throw;
} catch (const Stopped&) {
  const cloud::JobJournal& journal = job.journal();
  const cloud::JobSpec& spec = journal.spec;
  const std::string stage = "not all data are in the bucket; repeat the command to continue";
  const std::string watch =
      str("smelt cloud watch ", spec.folder, " continues, with --end stops the job");
  if (journal.step == cloud::JobStep::stage)
    throw Stopped(str("cloud: no machine was requested"), stage);
  if (journal.step == cloud::JobStep::collect)
    throw Stopped("cloud: not all results of the job were copied",
                  str("smelt cloud watch ", spec.folder, " copies them"));
  if (journal.there() == nullptr)
    throw Stopped("cloud: no process monitors the job now; it has no machine", watch);
  throw Stopped("cloud: no process monitors the job now",
                str(watch, "; after ", static_cast<long long>(spec.silence / 60),
                    " minutes without contact its machine ",
                    journal.there()->stays
                        ? "stops the job, but may not delete itself and keeps costing money"
                        : "deletes itself"));
}

// Prints the outcome and the cost of an ended job. Throws ExitStatus(1) unless the job succeeded.
// `reason_printed`: this process has already printed why the job ended.
void judge_end(const cloud::JobJournal& end, bool json, bool reason_printed) {
  if (json) std::cout << cloud::json_of(end).dump(-1, ' ', false, JsonInvalidUtf8::replace) << "\n";
  const double dollars = cloud::dollars_so_far(end, seconds_now());
  (json ? std::cerr : std::cout) << "the job has ended, for $" << std::fixed << std::setprecision(2)
                                 << dollars << ": " << end.outcome
                                 << (reason_printed ? "" : ": " + end.why) << std::endl;
  if (end.outcome != "done") throw ExitStatus(1);
}

// Throws an error if the SSH key exists but cannot be used. A missing key is created later.
void require_key() {
  if (const std::string key = cloud::ssh_key_file(); io::exists(key))
    cloud::require_usable_key(key);
}

}  // namespace

cloud::GoogleApi job_api() {
  io::HttpOptions options;
  options.to_answer = std::chrono::seconds(20);
  options.retry.whole = std::chrono::seconds(20);
  options.retry.most = std::chrono::seconds(8);
  options.retry.tries = 4;
  options.tell_after = std::chrono::hours(1);  // no warnings: the job logs failed requests itself
  return cloud::GoogleApi(
      cloud::TokenSource(io::google_credentials(), &std::chrono::system_clock::now,
                         &io::google_credentials),
      options);
}

double seconds_now() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(since).count();
}

double parse_until(const std::string& text) {
  for (const char* form : {"%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%MZ", "%Y-%m-%d"}) {
    std::tm time{};
    std::istringstream in(text);
    in >> std::get_time(&time, form);
    if (in.fail() || in.peek() != std::istringstream::traits_type::eof()) continue;
    const std::tm given = time;
    const auto at = static_cast<double>(::timegm(&time));
    if (time.tm_mday != given.tm_mday)  // such as day 31 of a month with 30 days
      throw UsageError(str("--until: no such day: ", text), "correct the day");
    if (at <= seconds_now())
      throw UsageError(str("--until: ", text, " has passed"),
                       "use a later time, or a duration such as 6h");
    return at;
  }
  try {
    return seconds_now() + static_cast<double>(parse_duration("--until", text).count());
  } catch (const UsageError&) {
    throw UsageError(str("--until: '", text, "' is neither a date nor a duration"),
                     "write it as 2026-12-01, 2026-12-01T18:30Z or 6h");
  }
}

void lead_job(cloud::GoogleApi& api, const JobLead& lead) {
  if (!lead.end) require_key();
  const StopSignal signal(kNotice);
  const auto tell = [&](const std::string& line) {
    (lead.json ? std::cerr : std::cout) << line << std::endl;
  };
  BothJournals store(api, lead.folder, lead.out);
  const std::string owner = this_process();
  const cloud::JobJournal journal = cloud::take_lead(store, owner, &seconds_now, lead.journal);
  const cloud::JobSpec& spec = journal.spec;
  cloud::TpuApi tpu(api, spec.project);
  const cloud::SshSettings ssh{
      spec.user, "all", "", lead.ssh_config, lead.ssh_options, !spec.node.external_ips, false};
  cloud::GuardAddresses place{cloud::api_server("tpu").text(), "$HOME",
                              cloud::api_server("storage").text(),
                              cloud::api_server("cloudresourcemanager").text()};
  cloud::JobShell shell(spec, {tpu, ssh, tell, place});
  place.home = "/home/" + spec.user;
  const std::string model = io::join_path(spec.folder, "run/model");
  cloud::JobEnvironment world{.tpu = tpu, .workers = shell, .store = store, .owner = owner};
  world.now = &seconds_now;
  world.wait = [](double seconds) {
    cloud::wait_or_stop(std::chrono::milliseconds(static_cast<int>(seconds * 1000)));
  };
  world.tell = tell;
  world.log = [](const std::string& text) { std::cerr << text << std::flush; };
  world.startup = [&](const std::string& zone, double seconds) {
    return cloud::startup_guard(spec, zone, seconds, place);
  };
  world.stage = [&](const auto& require_lead) { lead.stage(tell, require_lead); };
  world.fetch = [&] { fetch_results(api, spec, lead.out, tell); };
  world.newest_checkpoint = [&] { return checkpoint::latest_checkpoint(model); };
  world.times.poll = lead.poll;
  cloud::Job job(journal, world);
  run_to_end(job, lead);
  judge_end(job.journal(), lead.json, journal.outcome.empty());
}

void watch_job(const WatchOptions& o) {
  std::string folder = o.place, out = o.out;
  if (!io::is_remote(o.place)) {
    const std::string here = io::join_path(o.place, cloud::kJournalName);
    if (!io::exists(here))
      throw UsageError(
          str(o.place, ": no job has results in this folder"),
          "name the output folder of smelt cloud run, or the job's folder in the bucket");
    folder = cloud::parse_journal(io::read_file(here), here).spec.folder;
    if (out.empty()) out = o.place;
  }
  const auto journal = [&](const std::optional<std::string>& kept) {
    if (!kept)
      throw UsageError(str(folder, ": contains no job"), "start one with `smelt cloud run RECIPE`");
    cloud::JobJournal of = cloud::parse_journal(*kept, io::join_path(folder, cloud::kJournalName));
    if (of.step == cloud::JobStep::stage)
      throw UsageError(
          str(folder, ": not all data of the job are in the bucket"),
          "run the same `smelt cloud run` command again on the machine that has the data");
    return of;
  };
  JobLead lead{.folder = folder,
               .journal = journal,
               .out = out.empty() ? io::path_name(folder) : out,
               .poll = o.poll,
               .ssh_config = o.ssh_config,
               .ssh_options = o.ssh_options,
               .json = o.json,
               .end = o.end};
  cloud::GoogleApi api = job_api();
  const cloud::JobJournal of = journal(cloud::JournalObject(api, folder).read());
  require_own_folder(api, lead.out, of, "--out FOLDER");
  if (of.step == cloud::JobStep::ended) {
    const StopSignal signal(kNotice);
    require_no_newer(of.spec, lead.out, "--out FOLDER copies them to another folder");
    io::write_file(io::join_path(lead.out, cloud::kJournalName), cloud::json_of(of).dump(1) + "\n");
    fetch_results(api, of.spec, lead.out,
                  [](const std::string& line) { std::cerr << line << "\n"; });
    return judge_end(of, lead.json, false);
  }
  lead_job(api, lead);
}

}  // namespace smelt::cli
