#include "track/event_log.h"

#include <algorithm>
#include <charconv>
#include <cstdio>

#include "base/error.h"
#include "base/str.h"
#include "store/folder.h"
#include "store/path.h"
#include "track/metrics_file.h"

namespace smelt {
namespace {

constexpr double kObjectSeconds = 30;
constexpr std::string_view kEvents = "events.out.tfevents.";

// The seconds in an event file's name; 0 of any other.
std::int64_t seconds_of(std::string_view name) {
  std::int64_t seconds = 0;
  if (name.starts_with(kEvents))
    std::from_chars(name.data() + kEvents.size(), name.data() + name.size(), seconds);
  return seconds;
}

// Behind all that are there by its name, which says in what order they are read.
std::string new_event_file(const std::string& folder, std::int64_t first_step) {
  auto seconds = static_cast<std::int64_t>(wall_seconds());
  for (const std::string& name : list_folder(folder))
    seconds = std::max(seconds, seconds_of(name) + 1);
  char digits[32];
  std::snprintf(digits, sizeof digits, "%010lld", static_cast<long long>(seconds));
  return join_path(folder, str(kEvents, digits, ".smelt.", first_step));
}

}  // namespace

EventLog::EventLog(const std::string& folder, std::int64_t first_step)
    : file_(new_event_file(folder, first_step)) {
  file_.write_objects_every(kObjectSeconds);
  std::string bytes;
  append_event_version(bytes, wall_seconds());
  append_run_start(bytes, wall_seconds(), first_step);
  try {
    file_.add(bytes);
    file_.flush();          // that nothing may be written there is said now
  } catch (const Error&) {  // nor is a part of a beginning
    remove_file(file_.path());
    throw;
  }
}

void EventLog::add(std::int64_t step, std::span<const Scalar> scalars) {
  std::string bytes;
  append_scalars(bytes, wall_seconds(), step, scalars);
  file_.add(bytes);
}

void EventLog::add(std::int64_t step, std::span<const NamedHistogram> histograms) {
  std::string bytes;
  append_histograms(bytes, wall_seconds(), step, histograms);
  file_.add(bytes);
}

void EventLog::add(std::int64_t step, std::span<const NamedText> texts) {
  std::string bytes;
  append_texts(bytes, wall_seconds(), step, texts);
  file_.add(bytes);
}

void EventLog::add_hyperparameters(const Json& settings) {
  std::string bytes;
  append_hyperparameters(bytes, wall_seconds(), settings);
  file_.add(bytes);
}

}  // namespace smelt
