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

// Throws UsageError with `hint` if the run in `out` has a newer checkpoint than the job's run in
// the bucket: the job's results would replace it.
void require_no_newer(const JobSpec& spec, const std::string& out, const std::string& hint);

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

// Copies the job's run to `out`, except for what stays in the bucket; the COMMIT file of a
// checkpoint is copied last. Then removes older checkpoints in `out` that the run does not have.
// Nothing newer is removed or replaced: throws UsageError as require_no_newer() before it copies
// anything. Throws Stopped as copy_files().
void fetch_results(GoogleApi& api, const JobSpec& spec, const std::string& out,
                   const std::function<void(const std::string&)>& tell);

}  // namespace smelt
