// Uploads a job's files to its folder in the bucket and downloads its results.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cloud/google_api.h"
#include "cloud/job_journal.h"

namespace smelt::cli {

// Throws UsageError if the job's results would overwrite another run in `out`, or if `out` holds
// the journal of another job that is still running. `hint` explains how to choose another folder.
void require_own_folder(cloud::GoogleApi& api, const std::string& out, const cloud::JobJournal& job,
                        const std::string& hint);

// Throws UsageError with `hint` if the run in `out` has a newer checkpoint than the job's run in
// the bucket: the job's results would replace it.
void require_no_newer(const cloud::JobSpec& spec, const std::string& out, const std::string& hint);

// Throws UsageError if a folder without a job contains files in input/: the upload would delete
// them.
void require_no_input(cloud::GoogleApi& api, const std::string& folder);

struct StagedFile {
  std::string from, to;  // local path, path in the bucket
};
// Uploads the files to the job's input/ and deletes all others there. Files with equal checksums
// are not uploaded again. Throws Stopped after a signal.
void stage_files(cloud::GoogleApi& api, const std::vector<StagedFile>& files,
                 const std::string& folder, const std::function<void(const std::string&)>& tell,
                 const std::function<void()>& require_lead);

// Copies the job's run to `out`, except for files that stay in the bucket. The COMMIT file of a
// checkpoint is copied last. Then removes older checkpoints in `out` that the run no longer has.
// Never removes or replaces newer files: throws UsageError as require_no_newer() before it copies
// anything. Throws Stopped after a signal.
void fetch_results(cloud::GoogleApi& api, const cloud::JobSpec& spec, const std::string& out,
                   const std::function<void(const std::string&)>& tell);

}  // namespace smelt::cli
