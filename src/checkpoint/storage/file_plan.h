// Assigns the files of a checkpoint to the processes that write them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "compiler/ir/shape.h"

namespace smelt::checkpoint {

// A slice of a tensor with the ranks of the processes whose devices hold it, ascending.
struct OwnedSlice {
  std::string tensor;
  compiler::Shape whole;  // shape of the whole tensor
  compiler::Dims begin;   // index of the slice's first element
  compiler::Dims dims;
  std::vector<int> holders;

  std::string name() const;  // the name of the slice in its file
  std::uint64_t size_bytes() const;
};

struct PlannedFile {
  int writer = 0;                   // rank of a process that holds every slice of the file
  std::vector<std::size_t> slices;  // indices into the `slices` of plan_files()
};

// Returns the files of a checkpoint. Deterministic: every process that passes the same slices gets
// the same plan. Slices with the same holders share files, ordered by name; a file is closed before
// it would exceed `file_bytes`. The writer of a file is the holder with the fewest bytes assigned
// so far, or the lowest rank of several. If every process holds the whole state, the files do not
// depend on the number of processes.
std::vector<PlannedFile> plan_files(std::span<const OwnedSlice> slices, std::uint64_t file_bytes);

}  // namespace smelt::checkpoint
