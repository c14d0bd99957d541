// A run's scalars as TensorBoard reads them, docs/reference/formats/event_file.md.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "io/filesystem/growing_file.h"
#include "io/formats/event_file.h"

namespace smelt {

class EventLog {
 public:
  // Bytes of an event file on an object store, after which another one follows: the file is held in
  // memory, and written anew whenever it has grown.
  static constexpr std::uint64_t kMostObjectBytes = std::uint64_t{16} << 20;

  // A new event file in the folder, of a run whose first step to come is `first_step`: what other
  // files there say of it and of later steps counts no more.
  EventLog(const std::string& folder, std::int64_t first_step,
           std::uint64_t most_object_bytes = kMostObjectBytes);
  // What is true after `step` steps; on its way to the reader when this returns.
  void add(std::int64_t step, std::span<const Scalar> scalars);
  void add(std::int64_t step, std::span<const NamedHistogram> histograms);
  void add(std::int64_t step, std::span<const NamedText> texts);
  void add_hyperparameters(const Json& settings);
  const std::string& path() const { return file_.path(); }

 private:
  void write(const std::string& events);

  std::string folder_;
  std::int64_t first_step_, seconds_;  // in the file's name
  std::uint64_t most_object_bytes_;
  GrowingFile file_;
};

}  // namespace smelt
