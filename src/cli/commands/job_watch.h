// A job at Google, led from this machine.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cloud/google_api.h"
#include "cloud/job_journal.h"

namespace smelt {

// Whose requests do not outlast a job's poll.
GoogleApi job_api();
double seconds_now();  // since 1970

// "2026-12-01", "2026-12-01T18:30Z" or a length of time from now: seconds since 1970. UsageError.
double parse_until(const std::string& text);

struct JobLead {
  std::string folder;  // the job's, in the bucket
  // What the job is, of the journal that is kept there, where there is one.
  std::function<JobJournal(const std::optional<std::string>& kept)> journal;
  std::string out;   // a folder here: journal and results
  double poll = 30;  // seconds
  std::string ssh_config;
  std::vector<std::string> ssh_options;
  bool json = false;
  bool end = false;  // it is told to end
  std::function<void(const std::function<void(const std::string&)>& tell,
                     const std::function<void()>& require_lead)>
      stage = {};
};

// Until the job has ended. ExitStatus 1 unless it is done.
void lead_job(GoogleApi& api, const JobLead& lead);

}  // namespace smelt
