// A job's journal as an object in its bucket. Uses Cloud Storage's own API for its preconditions: a
// write only replaces the version that was read.
#pragma once

#include "cloud/google_api.h"
#include "cloud/job_journal.h"

namespace smelt::cloud {

// A JobStore in Cloud Storage.
class JournalObject : public JobStore {
 public:
  // `folder` is the job's folder, gs://bucket/folder.
  JournalObject(GoogleApi& api, const std::string& folder);

  // Throws UsageError if access is denied and SystemError if the server fails.
  std::optional<std::string> read() override;
  bool write(const std::string& text) override;

 private:
  ApiAnswer upload(const Json& content);
  [[noreturn]] void fail(const ApiFault& fault) const;

  GoogleApi& api_;
  std::string shown_, bucket_, key_;
  std::string generation_ =
      "0";  // generation last read or written; "0" if the object did not exist
};

}  // namespace smelt::cloud
