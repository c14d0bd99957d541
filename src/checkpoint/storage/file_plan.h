// Which of several processes writes which part of a state that their devices hold together.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "compiler/ir/shape.h"

namespace smelt {

// A slice of a tensor, and the processes whose devices hold it, ascending.
struct HeldSlice {
  std::string tensor;
  Shape whole;
  Dims begin;
  Dims dims;
  std::vector<int> holders;

  std::string name() const;  // as a checkpoint's file calls it
  std::uint64_t size_bytes() const;
};

struct PlannedFile {
  int writer = 0;                   // a holder of all that is in it
  std::vector<std::size_t> slices;  // by their place among those that were given
};

// The same on every process that gives the same slices. Slices that the same processes hold stand
// in files of their own, in order of name, a new one after so much data; each file goes to the one
// that has least to write by then, to the first of several. A state that each process holds whole,
// and so one process alone, makes the same files whatever the processes are.
std::vector<PlannedFile> plan_files(std::span<const HeldSlice> slices, std::uint64_t file_bytes);

}  // namespace smelt
