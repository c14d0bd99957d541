// TensorBoard's event files, docs/formats/event_file.md: TFRecords of Event messages. Bytes only,
// no files. Scalars alone; times are seconds since 1970.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace smelt {

struct Scalar {
  std::string tag;  // "train/valid_loss"
  float value = 0;
};

// The record that every event file begins with.
void append_event_version(std::string& out, double wall_time);

// A run that begins, or goes on: readers drop what earlier files say of `step` and later ones.
void append_run_start(std::string& out, double wall_time, std::int64_t step);

// All scalars of one step, as one record.
void append_scalars(std::string& out, double wall_time, std::int64_t step,
                    std::span<const Scalar> scalars);

}  // namespace smelt
