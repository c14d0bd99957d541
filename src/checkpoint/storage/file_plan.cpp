#include "checkpoint/storage/file_plan.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "checkpoint/storage/slices.h"

namespace smelt::checkpoint {
namespace {

using Loads = std::map<int, std::uint64_t>;  // bytes assigned to each process

int least_loaded(const std::vector<int>& holders, Loads& loads) {
  return *std::ranges::min_element(holders, {}, [&](int process) { return loads[process]; });
}

}  // namespace

std::string OwnedSlice::name() const {
  return dims == whole.dims ? tensor : tensor + slice_text(begin, dims);
}

std::uint64_t OwnedSlice::size_bytes() const {
  return compiler::Shape{.dtype = whole.dtype, .dims = dims}.size_bytes();
}

std::vector<PlannedFile> plan_files(std::span<const OwnedSlice> slices, std::uint64_t file_bytes) {
  // Sorts by holders, then by name.
  std::map<std::pair<std::vector<int>, std::string>, std::size_t> order;
  for (std::size_t i = 0; i < slices.size(); ++i) {
    CHECK(!slices[i].holders.empty(), slices[i].tensor);
    CHECK(order.emplace(std::pair(slices[i].holders, slices[i].name()), i).second,
          slices[i].name());
  }
  std::vector<PlannedFile> files;
  Loads loads;
  std::uint64_t held = 0;
  const auto close = [&] {
    if (files.empty()) return;
    PlannedFile& file = files.back();
    file.writer = least_loaded(slices[file.slices.front()].holders, loads);
    loads[file.writer] += held;
    held = 0;
  };
  const std::vector<int>* holders = nullptr;
  for (const auto& [key, i] : order) {
    const std::uint64_t size = slices[i].size_bytes();
    if (holders == nullptr || *holders != key.first || (held > 0 && held + size > file_bytes)) {
      close();
      files.emplace_back();
      holders = &key.first;
    }
    files.back().slices.push_back(i);
    held += size;
  }
  close();
  return files;
}

}  // namespace smelt::checkpoint
