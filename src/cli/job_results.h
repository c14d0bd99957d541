// What goes to a job's folder in the bucket and what comes back from it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cloud/google_api.h"
#include "cloud/job_journal.h"

namespace smelt {

// UsageError where the job's results would come over another run's, or another job, which goes on,
// has its journal in the folder `out`; `hint`: how another is named.
void require_own_folder(GoogleApi& api, const std::string& out, const JobJournal& job,
                        const std::string& hint);

// UsageError where a run in `out` has gone on behind what the job, which has ended, came to.
void require_no_newer(const JobSpec& spec, const std::string& out);

// UsageError where files lie in the input/ of a folder that no job had yet, which would be removed.
void require_no_input(GoogleApi& api, const std::string& folder);

struct StagedFile {
  std::string from, to;  // here, there
};
// Makes the job's input/ hold these files, by their checksums, and no others. Stopped as
// copy_files().
void stage_files(GoogleApi& api, const std::vector<StagedFile>& files, const std::string& folder,
                 const std::function<void(const std::string&)>& tell,
                 const std::function<void()>& require_lead);

// The job's run, but for what stays in the bucket; a checkpoint's marker comes last. Checkpoints in
// `out`, which is the job's, that the run has not are removed. Stopped as copy_files().
void fetch_results(GoogleApi& api, const JobSpec& spec, const std::string& out,
                   const std::function<void(const std::string&)>& tell);

}  // namespace smelt
