// A run's scalars as TensorBoard reads them, docs/formats/event_file.md.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "format/event_file.h"
#include "store/growing_file.h"

namespace smelt {

class EventLog {
 public:
  // A new event file in the folder, of a run whose first step to come is `first_step`: what other
  // files there say of it and of later steps counts no more.
  EventLog(const std::string& folder, std::int64_t first_step);
  // What is true after `step` steps; on its way to the reader when this returns.
  void add(std::int64_t step, std::span<const Scalar> scalars);
  void add(std::int64_t step, std::span<const NamedHistogram> histograms);
  void add(std::int64_t step, std::span<const NamedText> texts);
  void add_hyperparameters(const Json& settings);
  const std::string& path() const { return file_.path(); }

 private:
  GrowingFile file_;
};

}  // namespace smelt
