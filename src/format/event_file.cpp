#include "format/event_file.h"

#include "format/tfrecord.h"
#include "format/wire.h"

namespace smelt {
namespace {

// Numbers of the fields of Event, Summary, Summary.Value and SessionLog (tensorflow/core:
// event.proto, summary.proto).
enum EventField : std::uint32_t {
  kWallTime = 1,
  kStep = 2,
  kFileVersion = 3,
  kSummary = 5,
  kSession = 7
};
enum SummaryField : std::uint32_t { kValue = 1, kTag = 1, kSimpleValue = 2 };
constexpr std::uint32_t kStatus = 1;
constexpr std::uint64_t kStart = 1;

WireWriter event_at(double wall_time) {
  WireWriter event;
  event.real(kWallTime, wall_time);
  return event;
}

}  // namespace

void append_event_version(std::string& out, double wall_time) {
  WireWriter event = event_at(wall_time);
  event.bytes(kFileVersion, "brain.Event:2");
  append_record(out, event.text());
}

void append_run_start(std::string& out, double wall_time, std::int64_t step) {
  WireWriter event = event_at(wall_time), session;
  session.varint(kStatus, kStart);
  event.integer(kStep, step);
  event.message(kSession, session);
  append_record(out, event.text());
}

void append_scalars(std::string& out, double wall_time, std::int64_t step,
                    std::span<const Scalar> scalars) {
  WireWriter event = event_at(wall_time), summary;
  event.integer(kStep, step);
  for (const Scalar& scalar : scalars) {
    WireWriter value;
    value.bytes(kTag, scalar.tag);
    value.real(kSimpleValue, scalar.value);
    summary.message(kValue, value);
  }
  event.message(kSummary, summary);
  append_record(out, event.text());
}

}  // namespace smelt
