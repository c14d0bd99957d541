// Monitors and controls a job on Google Cloud from this machine.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cloud/google_api.h"
#include "cloud/job_journal.h"

namespace smelt::cli {

// Returns a client whose request timeouts are shorter than a job's polling interval.
cloud::GoogleApi job_api();
double seconds_now();  // since 1970

// Parses "2026-12-01", "2026-12-01T18:30Z" or a duration from now. Returns seconds since 1970.
// Throws UsageError.
double parse_until(const std::string& text);

// A job for lead_job(), and how this process monitors it.
struct JobLead {
  // The job's folder in the bucket.
  std::string folder;
  // Returns the journal to continue with. `kept` is the journal stored in the bucket, or nullopt if
  // the bucket has none.
  std::function<cloud::JobJournal(const std::optional<std::string>& kept)> journal;
  std::string out;   // a local folder for journal and results
  double poll = 30;  // seconds
  std::string ssh_config;
  std::vector<std::string> ssh_options;
  bool json = false;
  bool end = false;  // stop the job
  // Uploads the job's files, if any. `tell` logs a line; `require_lead` throws if this process no
  // longer holds the job's lease.
  std::function<void(const std::function<void(const std::string&)>& tell,
                     const std::function<void()>& require_lead)>
      stage = {};
};

// Monitors the job until it has ended. Throws ExitStatus(1) unless the job succeeded.
void lead_job(cloud::GoogleApi& api, const JobLead& lead);

}  // namespace smelt::cli
