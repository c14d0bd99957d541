#include "io/formats/event_file.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>

#include "io/formats/tfrecord.h"
#include "io/formats/wire.h"

namespace smelt::io {
namespace {

// Field numbers of Event, Summary, Summary.Value and SessionLog (tensorflow/core: event.proto,
// summary.proto).
enum EventField : std::uint32_t {
  kWallTime = 1,
  kStep = 2,
  kFileVersion = 3,
  kSummary = 5,
  kSession = 7
};
enum SummaryField : std::uint32_t {
  kValue = 1,
  kTag = 1,
  kSimpleValue = 2,
  kHisto = 5,
  kTensor = 8,
  kMetadata = 9
};
// Field numbers of HistogramProto (tsl: histogram.proto).
enum HistogramField : std::uint32_t {
  kMin = 1,
  kMax = 2,
  kNum = 3,
  kSum = 4,
  kSumSquares = 5,
  kBucketLimit = 6,
  kBucket = 7
};
// Field numbers of TensorProto (tensorflow/core: tensor.proto).
enum TensorField : std::uint32_t { kType = 1, kShape = 2, kFloatValue = 5, kStringValue = 8 };
enum ElementType : std::uint64_t { kFloat = 1, kString = 7 };
// Field numbers of SummaryMetadata and SummaryMetadata.PluginData.
enum MetadataField : std::uint32_t {
  kPluginData = 1,
  kPluginName = 1,
  kContent = 2,
  kDataClass = 4
};
constexpr std::uint64_t kTensorClass = 2;
// Field numbers of HParamsPluginData, SessionStartInfo (tensorboard/plugins/hparams:
// plugin_data.proto), and google.protobuf.Value.
enum HparamsField : std::uint32_t { kSessionStart = 3, kHparams = 1, kStartTime = 5 };
enum ValueField : std::uint32_t { kNumberValue = 2, kStringValueOf = 3, kBoolValue = 4 };
constexpr std::uint32_t kStatus = 1;
constexpr std::uint64_t kStart = 1;

WireWriter event_at(double wall_time) {
  WireWriter event;
  event.real(kWallTime, wall_time);
  return event;
}

void append_event(std::string& out, double wall_time, std::int64_t step,
                  const WireWriter& summary) {
  WireWriter event = event_at(wall_time);
  event.integer(kStep, step);
  event.message(kSummary, summary);
  append_record(out, event.text());
}

void put_reals(WireWriter& out, std::uint32_t field, std::span<const double> values) {
  WireWriter packed;
  for (const double x : values) packed.raw_fixed64(std::bit_cast<std::uint64_t>(x));
  out.message(field, packed);
}

WireWriter plugin_metadata(std::string_view plugin, std::string_view content) {
  WireWriter data, metadata;
  data.bytes(kPluginName, plugin);
  data.bytes(kContent, content);
  metadata.message(kPluginData, data);
  metadata.varint(kDataClass, kTensorClass);
  return metadata;
}

// Returns a serialized google.protobuf.Value.
WireWriter hyperparameter(const Json& value) {
  WireWriter out;
  if (value.is_boolean())
    out.varint(kBoolValue, value.get<bool>() ? 1 : 0);
  else if (value.is_number())
    out.real(kNumberValue, value.get<double>());
  else
    out.bytes(kStringValueOf, value.is_string() ? value.get<std::string>() : value.dump());
  return out;
}

// Returns the upper bounds of TensorFlow's histogram buckets for numbers from 0 on.
const std::vector<double>& bucket_ends() {
  static const std::vector<double> ends = [] {
    std::vector<double> out;
    for (double end = 1e-12; end < 1e20; end *= 1.1) out.push_back(end);
    return out;
  }();
  return ends;
}

// Returns the index of the bucket that contains x. Buckets from 0 on are numbered 0, 1, …; their
// mirror images for negative numbers are -1, -2, ….
int bucket_of(double x) {
  const auto& ends = bucket_ends();
  const auto below = static_cast<int>(std::ranges::upper_bound(ends, std::abs(x)) - ends.begin());
  return x >= 0 ? below : -1 - below;
}

double upper_end(int bucket) {
  const auto& ends = bucket_ends();
  if (bucket == -1) return 0;
  if (bucket < 0) return -ends[static_cast<std::size_t>(-bucket - 2)];
  return bucket < std::ssize(ends) ? ends[static_cast<std::size_t>(bucket)]
                                   : std::numeric_limits<double>::max();
}

}  // namespace

Histogram histogram_of(std::span<const float> values) {
  Histogram out;
  out.min = std::numeric_limits<double>::max();
  out.max = std::numeric_limits<double>::lowest();
  std::map<int, double> counts;  // by bucket
  for (const float value : values) {
    const double x = value;
    if (!std::isfinite(x)) continue;
    out.min = std::min(out.min, x);
    out.max = std::max(out.max, x);
    out.count += 1;
    out.sum += x;
    out.sum_of_squares += x * x;
    counts[bucket_of(x)] += 1;
  }
  int next = counts.empty() ? 0 : counts.begin()->first;
  const auto put = [&](int bucket, double count) {
    out.limits.push_back(upper_end(bucket));
    out.counts.push_back(count);
    next = bucket + 1;
  };
  for (const auto& [bucket, count] : counts) {
    if (bucket > next) put(bucket - 1, 0);
    put(bucket, count);
  }
  return out;
}

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
  WireWriter summary;
  for (const Scalar& scalar : scalars) {
    WireWriter value;
    value.bytes(kTag, scalar.tag);
    value.real(kSimpleValue, scalar.value);
    summary.message(kValue, value);
  }
  append_event(out, wall_time, step, summary);
}

void append_histograms(std::string& out, double wall_time, std::int64_t step,
                       std::span<const NamedHistogram> histograms) {
  WireWriter summary;
  for (const auto& [tag, h] : histograms) {
    WireWriter value, histo;
    histo.real(kMin, h.min);
    histo.real(kMax, h.max);
    histo.real(kNum, h.count);
    histo.real(kSum, h.sum);
    histo.real(kSumSquares, h.sum_of_squares);
    put_reals(histo, kBucketLimit, h.limits);
    put_reals(histo, kBucket, h.counts);
    value.bytes(kTag, tag);
    value.message(kHisto, histo);
    summary.message(kValue, value);
  }
  append_event(out, wall_time, step, summary);
}

void append_texts(std::string& out, double wall_time, std::int64_t step,
                  std::span<const NamedText> texts) {
  WireWriter summary;
  for (const auto& [tag, text] : texts) {
    WireWriter value, tensor;
    tensor.varint(kType, kString);
    tensor.bytes(kShape, "");
    tensor.bytes(kStringValue, text);
    value.bytes(kTag, tag);
    value.message(kTensor, tensor);
    value.message(kMetadata, plugin_metadata("text", ""));
    summary.message(kValue, value);
  }
  append_event(out, wall_time, step, summary);
}

void append_hyperparameters(std::string& out, double wall_time, const Json& settings) {
  WireWriter session, data, tensor, value, summary;
  for (const auto& [name, setting] : settings.items()) {
    WireWriter entry;
    entry.bytes(1, name);
    entry.message(2, hyperparameter(setting));
    session.message(kHparams, entry);
  }
  session.real(kStartTime, wall_time);
  data.message(kSessionStart, session);
  tensor.varint(kType, kFloat);
  tensor.bytes(kShape, "");
  WireWriter zero;
  zero.raw_fixed32(0);
  tensor.message(kFloatValue, zero);
  value.bytes(kTag, "_hparams_/session_start_info");
  value.message(kTensor, tensor);
  value.message(kMetadata, plugin_metadata("hparams", data.text()));
  summary.message(kValue, value);
  append_event(out, wall_time, 0, summary);
}

}  // namespace smelt::io
