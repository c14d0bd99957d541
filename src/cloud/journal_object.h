// A job's journal as an object of its bucket, by Cloud Storage's own API, whose preconditions the
// client of store/ has not: it is written over what was read and over nothing else.
#pragma once

#include "cloud/google_api.h"
#include "cloud/job_journal.h"

namespace smelt {

class JournalObject : public JobStore {
 public:
  // `folder`: gs://bucket/folder, of the job.
  JournalObject(GoogleApi& api, const std::string& folder);

  // UsageError for what may not be read, SystemError for a server that fails.
  std::optional<std::string> read() override;
  bool write(const std::string& text) override;

 private:
  ApiAnswer upload(const Json& content);
  [[noreturn]] void fail(const ApiFault& fault) const;

  GoogleApi& api_;
  std::string shown_, bucket_, key_;
  std::string generation_ = "0";  // that was last read or written; "0": there was none
};

}  // namespace smelt
