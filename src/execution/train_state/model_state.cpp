#include "execution/train_state/model_state.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/parallel.h"
#include "execution/train_state/initialize.h"
#include "execution/train_state/shards.h"

namespace smelt::execution {
namespace {

void require_tensor(const checkpoint::SlicedTensors& tensors, const std::string& name,
                    const compiler::Shape& shape, const std::string& where) {
  const auto found = tensors.find(name);
  if (found == tensors.end())
    throw UsageError(str(where, ": no tensor ", name),
                     "use the recipe or model that this checkpoint was made with");
  if (found->second.shape != shape)
    throw UsageError(
        str(where, ": ", name, " has shape ", found->second.shape, ", the model expects ", shape),
        "use the configuration that the checkpoint was made with");
}

// Returns the slices of a tensor. A stack's layers are separate tensors in a checkpoint; each
// becomes a slice along the first axis.
std::vector<checkpoint::TensorSlice> saved_slices(const checkpoint::SlicedTensors& tensors,
                                                  const model::StateTensor& tensor) {
  if (tensor.layers == 0) return tensors.find(tensor.name)->second.slices;
  std::vector<checkpoint::TensorSlice> out;
  std::int64_t layer = 0;
  for (const std::string& name : tensor.stored_names()) {
    for (checkpoint::TensorSlice slice : tensors.find(name)->second.slices) {
      compiler::Dims& dims = slice.part.shape.dims;
      slice.begin.insert(slice.begin.begin(), layer);
      dims.insert(dims.begin(), 1);
      out.push_back(std::move(slice));
    }
    ++layer;
  }
  return out;
}

std::vector<checkpoint::TensorSlice> in_one(const model::StateTensor& tensor,
                                            std::span<const std::byte> values) {
  return {{.begin = compiler::Dims(tensor.shape.dims.size()), .part = {tensor.shape, values}}};
}

// Overwrites the initial values with the given ones.
void put_given(const model::StateTensor& tensor, const io::TensorMap& given,
               std::span<std::byte> values) {
  const std::size_t size = tensor.shape_of_one().size_bytes();
  for (const std::string& name : tensor.drawn_names()) {
    if (const auto found = given.find(name); found != given.end())
      std::ranges::copy(found->second.data, values.begin());
    values = values.subspan(size);
  }
}

void draw(const model::StateTensor& tensor, std::uint64_t seed, std::span<std::byte> room) {
  draw_initial(tensor, seed, {reinterpret_cast<float*>(room.data()), room.size() / sizeof(float)});
}

bool overlap(const checkpoint::TensorSlice& slice, const compiler::Dims& begin,
             const compiler::Dims& part) {
  for (std::size_t i = 0; i < part.size(); ++i)
    if (slice.begin[i] >= begin[i] + part[i] ||
        begin[i] >= slice.begin[i] + slice.part.shape.dims[i])
      return false;
  return true;
}

// Returns the tensors' indices by descending size, so that the threads finish at about the same
// time.
std::vector<std::size_t> by_size(const model::StateLayout& layout) {
  std::vector<std::size_t> order(layout.tensors.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater{},
                           [&](std::size_t i) { return layout.tensors[i].shape.size_bytes(); });
  return order;
}

}  // namespace

class ModelState::Staging {
 public:
  // Returns the slices. Loads each slice that overlaps a part (one of `begins`, of shape `part`)
  // into memory once, and returns the other slices unchanged.
  std::span<const checkpoint::TensorSlice> read_once(
      std::span<const checkpoint::TensorSlice> slices, const std::vector<compiler::Dims>& begins,
      const compiler::Dims& part) {
    read_.assign(slices.begin(), slices.end());
    memory_.resize(std::max(memory_.size(), read_.size()));
    for (std::size_t i = 0; i < read_.size(); ++i) {
      checkpoint::TensorSlice& slice = read_[i];
      if (!slice.put || std::ranges::none_of(begins, [&](const compiler::Dims& begin) {
            return overlap(slice, begin, part);
          }))
        continue;
      const auto bytes = memory_[i].of(slice.part.shape.size_bytes());
      std::exchange(slice.put, {})(bytes);
      slice.part.data = bytes;
    }
    return read_;
  }

  checkpoint::Scratch whole, part;

 private:
  std::vector<checkpoint::TensorSlice> read_;
  std::vector<checkpoint::Scratch> memory_;
};

ModelState::ModelState(std::vector<pjrt::OwnDevice> devices, const model::ShardingPlan& placement,
                       const model::StateLayout& layout)
    : layout_(std::make_shared<const model::StateLayout>(layout)),
      mesh_(placement.partition.mesh),
      devices_(std::move(devices)),
      buffers_(devices_.size()) {}

// The number of threads is limited because each holds a whole tensor in memory.
ModelState::ModelState(const pjrt::Client& client, const model::ShardingPlan& placement,
                       const model::StateLayout& layout, const Source& source)
    : ModelState(client.own_devices(placement.devices), placement, layout) {
  constexpr int kMostThreads = 8;
  const std::vector<std::size_t> order = by_size(layout);
  std::vector<std::vector<pjrt::Buffer>> made(order.size());
  std::atomic<std::size_t> next = 0;
  run_parallel(std::min(available_threads(), kMostThreads), [&](int) {
    Staging staging;
    for (std::size_t n; (n = next++) < order.size();) {
      const model::StateTensor& tensor = layout_->tensors[order[n]];
      made[order[n]] = put(client, tensor, source(tensor, staging), staging);
    }
  });
  for (std::vector<pjrt::Buffer>& tensor : made)
    for (std::size_t own = 0; own < buffers_.size(); ++own)
      buffers_[own].push_back(std::move(tensor[own]));
}

std::vector<pjrt::Buffer> ModelState::put(const pjrt::Client& client,
                                          const model::StateTensor& tensor,
                                          std::span<const checkpoint::TensorSlice> slices,
                                          Staging& staging) const {
  const compiler::Shape shape = part_shape(mesh_, tensor.sharding, tensor.shape);
  std::vector<compiler::Dims> begins;
  for (const pjrt::OwnDevice& own : devices_)
    begins.push_back(part_begin(mesh_, tensor.sharding, tensor.shape, own.place));
  if (std::ranges::any_of(begins,
                          [&](const compiler::Dims& begin) { return begin != begins.front(); }))
    slices = staging.read_once(slices, begins, shape.dims);
  std::vector<pjrt::Buffer> made;
  std::span<const std::byte> bytes;
  for (std::size_t own = 0; own < begins.size(); ++own) {
    if (own == 0 || begins[own] != begins[own - 1])
      bytes = checkpoint::part_of(slices, begins[own], shape, staging.part);
    made.push_back(client.to_device(bytes, shape, devices_[own].device));
  }
  return made;
}

ModelState ModelState::fresh(const pjrt::Client& client, const model::ShardingPlan& placement,
                             const model::StateLayout& layout, std::uint64_t seed,
                             const io::TensorMap& given) {
  return {client, placement, layout, [&](const model::StateTensor& tensor, Staging& staging) {
            const std::span<std::byte> room = staging.whole.of(tensor.shape.size_bytes());
            draw(tensor, seed, room);
            put_given(tensor, given, room);
            return in_one(tensor, room);
          }};
}

ModelState ModelState::restore(const pjrt::Client& client, const model::ShardingPlan& placement,
                               const model::StateLayout& layout,
                               const checkpoint::SlicedTensors& tensors, const std::string& where) {
  // Checks the tensors in layout order, so that the first missing one is reported.
  for (const model::StateTensor& tensor : layout.tensors)
    if (tensor.saved)
      for (const std::string& name : tensor.stored_names())
        require_tensor(tensors, name, tensor.shape_of_one(), where);
  return {client, placement, layout, [&](const model::StateTensor& tensor, Staging& staging) {
            if (tensor.saved) return saved_slices(tensors, tensor);
            const std::span<std::byte> room = staging.whole.of(tensor.shape.size_bytes());
            draw(tensor, 0, room);
            return in_one(tensor, room);
          }};
}

ModelState ModelState::restore(const pjrt::Client& client, const model::ShardingPlan& placement,
                               const model::StateLayout& layout, const io::TensorMap& tensors,
                               const std::string& where) {
  return restore(client, placement, layout, checkpoint::slices_of(tensors), where);
}

ModelState ModelState::of_results(const pjrt::Client& client, const model::ShardingPlan& placement,
                                  const model::StateLayout& layout,
                                  std::vector<std::vector<pjrt::Buffer>>& results) {
  ModelState state(client.own_devices(placement.devices), placement, layout);
  for (std::size_t own = 0; own < results.size(); ++own)
    for (std::size_t i = 0; i < layout.tensors.size(); ++i)
      state.buffers_[own].push_back(std::move(results[own][i]));
  return state;
}

std::vector<const pjrt::Buffer*> ModelState::on_device(std::size_t own,
                                                       const model::StateLayout& layout) const {
  const auto& buffers = buffers_[own];
  std::vector<const pjrt::Buffer*> handles;
  for (const model::StateTensor& tensor : layout.tensors) {
    // The tensor usually has the same index in both layouts.
    auto at = layout_->tensors.begin() + std::ssize(handles);
    if (handles.size() >= layout_->tensors.size() || at->name != tensor.name)
      at = std::ranges::find(layout_->tensors, tensor.name, &model::StateTensor::name);
    CHECK(at != layout_->tensors.end() && at->shape == tensor.shape, tensor.name);
    handles.push_back(&buffers[static_cast<std::size_t>(at - layout_->tensors.begin())]);
  }
  return handles;
}

void ModelState::replace(std::vector<std::vector<pjrt::Buffer>>& results) {
  for (std::size_t own = 0; own < buffers_.size(); ++own)
    for (std::size_t i = 0; i < layout_->tensors.size(); ++i)
      buffers_[own][i] = std::move(results[own][i]);
}

StateCopy ModelState::start_copy() const { return {layout_, mesh_, devices_, buffers_}; }

}  // namespace smelt::execution
