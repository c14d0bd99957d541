// TensorBoard event files of a run (docs/reference/formats/event_file.md).
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "io/filesystem/growing_file.h"
#include "io/formats/event_file.h"

namespace smelt::evaluation {

class EventLog {
 public:
  // Size in bytes after which a new event file is started on an object store. The current file is
  // held in memory and rewritten each time it has grown.
  static constexpr std::uint64_t kMostObjectBytes = std::uint64_t{16} << 20;

  // Creates a new event file in the folder for a run that continues at step `first_step`. Events of
  // this and later steps in older files are superseded.
  EventLog(const std::string& folder, std::int64_t first_step,
           std::uint64_t most_object_bytes = kMostObjectBytes);
  // Add values after `step` steps. When add() returns, a file on disk has the data; an object store
  // gets it in the background.
  void add(std::int64_t step, std::span<const io::Scalar> scalars);
  void add(std::int64_t step, std::span<const io::NamedHistogram> histograms);
  void add(std::int64_t step, std::span<const io::NamedText> texts);
  void add_hyperparameters(const Json& settings);
  const std::string& path() const { return file_.path(); }

 private:
  void write(const std::string& events);

  std::string folder_;
  std::int64_t first_step_, seconds_;  // parts of the file's name
  std::uint64_t most_object_bytes_;
  io::GrowingFile file_;
};

}  // namespace smelt::evaluation
