#include "evaluation/tracking/event_log.h"

#include <algorithm>
#include <charconv>
#include <cstdio>

#include "base/error.h"
#include "base/str.h"
#include "evaluation/tracking/metrics_file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"

namespace smelt::evaluation {
namespace {

constexpr double kObjectSeconds = 30;
constexpr std::string_view kEvents = "events.out.tfevents.";

// Returns the time in an event file's name, in seconds since 1970, or 0 for other files.
std::int64_t seconds_of(std::string_view name) {
  std::int64_t seconds = 0;
  if (name.starts_with(kEvents))
    std::from_chars(name.data() + kEvents.size(), name.data() + name.size(), seconds);
  return seconds;
}

// Returns the time for the name of a new event file, in seconds since 1970. It is later than that
// of every existing file, because TensorBoard reads files in the order of their names.
std::int64_t new_seconds(const std::string& folder) {
  auto seconds = static_cast<std::int64_t>(wall_seconds());
  for (const std::string& name : io::list_folder(folder))
    seconds = std::max(seconds, seconds_of(name) + 1);
  return seconds;
}

std::string event_file(const std::string& folder, std::int64_t seconds, std::int64_t first_step) {
  char digits[32];
  std::snprintf(digits, sizeof digits, "%010lld", static_cast<long long>(seconds));
  return io::join_path(folder, str(kEvents, digits, ".smelt.", first_step));
}

}  // namespace

EventLog::EventLog(const std::string& folder, std::int64_t first_step,
                   std::uint64_t most_object_bytes)
    : folder_(folder),
      first_step_(first_step),
      seconds_(new_seconds(folder)),
      most_object_bytes_(most_object_bytes),
      file_(event_file(folder, seconds_, first_step)) {
  file_.write_objects_every(kObjectSeconds);
  std::string bytes;
  io::append_event_version(bytes, wall_seconds());
  io::append_run_start(bytes, wall_seconds(), first_step);
  try {
    file_.add(bytes);
    file_.flush();          // throws now if the folder is not writable
  } catch (const Error&) {  // do not leave an incomplete file
    io::remove_file(file_.path());
    throw;
  }
}

void EventLog::write(const std::string& events) {
  if (file_.object_bytes() > most_object_bytes_) {
    seconds_ = std::max(seconds_ + 1, static_cast<std::int64_t>(wall_seconds()));
    file_.continue_in(event_file(folder_, seconds_, first_step_));
    std::string version;
    io::append_event_version(version, wall_seconds());
    file_.add(version);
  }
  file_.add(events);
}

void EventLog::add(std::int64_t step, std::span<const io::Scalar> scalars) {
  std::string bytes;
  io::append_scalars(bytes, wall_seconds(), step, scalars);
  write(bytes);
}

void EventLog::add(std::int64_t step, std::span<const io::NamedHistogram> histograms) {
  std::string bytes;
  io::append_histograms(bytes, wall_seconds(), step, histograms);
  write(bytes);
}

void EventLog::add(std::int64_t step, std::span<const io::NamedText> texts) {
  std::string bytes;
  io::append_texts(bytes, wall_seconds(), step, texts);
  write(bytes);
}

void EventLog::add_hyperparameters(const Json& settings) {
  std::string bytes;
  io::append_hyperparameters(bytes, wall_seconds(), settings);
  write(bytes);
}

}  // namespace smelt::evaluation
