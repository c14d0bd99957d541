#include "cloud/journal_object.h"

#include "base/error.h"
#include "cloud/storage_api.h"
#include "io/credentials/json_text.h"
#include "io/filesystem/path.h"

namespace smelt::cloud {
namespace {

constexpr int kTries = 10;

}  // namespace

JournalObject::JournalObject(GoogleApi& api, const std::string& folder)
    : api_(api), shown_(io::join_path(folder, kJournalName)) {
  const io::RemotePath place = io::parse_remote(shown_);
  bucket_ = place.bucket;
  key_ = place.key;
}

void JournalObject::fail(const ApiFault& fault) const {
  const std::string text = str(shown_, ": ", fault.message);
  if (fault.status == 429 || fault.status >= 500) throw SystemError(text);
  throw UsageError(text,
                   str("smelt cloud doctor --bucket gs://", bucket_, " shows what is missing"));
}

// Reads the object's generation, then the content of that generation; starts again if it was
// replaced in between.
std::optional<std::string> JournalObject::read() {
  const std::string path = object_path(bucket_, key_);
  for (int i = 0; i < kTries; ++i) {
    const ApiAnswer about = api_.call({.service = "storage", .path = path});
    if (about.fault && about.fault->status != kNotFound) fail(*about.fault);
    generation_ = about.fault ? "0" : io::text_in(about.body, "generation");
    if (about.fault) return std::nullopt;
    const ApiAnswer content = api_.call({.service = "storage",
                                         .path = path,
                                         .query = {{"alt", "media"}, {"generation", generation_}}});
    if (!content.fault) return content.body.dump(1) + "\n";
    if (content.fault->status != kNotFound) fail(*content.fault);
  }
  throw SystemError(str(shown_, ": other processes keep replacing it"));
}

ApiAnswer JournalObject::upload(const Json& content) {
  return api_.call(
      {.method = "POST",
       .service = "storage",
       .path = str("/upload", bucket_path(bucket_), "/o"),
       .query = {{"uploadType", "media"}, {"name", key_}, {"ifGenerationMatch", generation_}},
       .body = content,
       .repeat = io::Repeat::safe});  // safe: a repeated write fails the precondition
}

bool JournalObject::write(const std::string& text) {
  const Json content = Json::parse(text);
  for (int i = 0; i < kTries; ++i) {
    const ApiAnswer answer = upload(content);
    if (!answer.fault) {
      generation_ = io::text_in(answer.body, "generation");
      return true;
    }
    if (answer.fault->status != kOtherGeneration) fail(*answer.fault);
    // An earlier attempt whose response was lost may have succeeded.
    const auto there = read();
    if (there && io::text_in(Json::parse(*there), "owner") != io::text_in(content, "owner"))
      return false;
  }
  return false;
}

}  // namespace smelt::cloud
