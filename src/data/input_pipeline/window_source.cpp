#include "data/input_pipeline/window_source.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/parallel.h"
#include "base/philox.h"
#include "data/input_pipeline/record_blocks.h"
#include "data/input_pipeline/record_index.h"
#include "io/formats/crc32c.h"
#include "io/formats/little_endian.h"

namespace smelt::data {
namespace {

// Returns the window length. Throws UsageError if there is no window transform and the features are
// not a single list of integers.
std::uint64_t checked_length(const RecordOptions& o, const std::string& path) {
  if (o.windows) return static_cast<std::uint64_t>(o.windows->tokens);
  const io::Features& features = o.features;
  const bool fits = features.size() == 1 && features.front().dtype == compiler::DType::s32 &&
                    features.front().row.size() == 1 && features.front().row.front() > 0;
  if (fits) return static_cast<std::uint64_t>(features.front().row.front());
  std::vector<std::string> names;
  for (const io::Feature& feature : features) names.push_back(feature.name);
  throw UsageError(str(path, ": contains only tokens, but training needs ", join(names, ", ")),
                   "make records from the text, or train a model that needs only tokens");
}

std::unique_ptr<WindowCuts> cuts_of(const RecordOptions& o, const TokenFiles& files,
                                    std::uint64_t length) {
  if (o.windows && !o.windows->across_documents) return windows_within_documents(files, length);
  return windows_across_documents(files, length, o.seed);
}

}  // namespace

WindowSource::WindowSource(const RecordOptions& options, std::vector<std::string> paths,
                           std::uint64_t memory)
    : ExampleSource(options.features),
      transform_(options.windows),
      length_(checked_length(options, paths.front())),
      tokens_(std::move(paths), memory),
      cuts_(cuts_of(options, tokens_, length_)),
      block_(block_of_examples(length_ * sizeof(std::int32_t))),
      order_(epoch_size(), block_, random_key(options.seed, "windows")),
      train_key_(random_key(options.seed, "what becomes of windows")),
      in_order_key_(random_key(0, "what becomes of held-out windows")),
      blocks_(kKeptBlocks, [this](std::uint64_t block) { return read_block(block); }) {
  run_each(tokens_.count(), kSideBySide, [this](std::size_t file) { check_file(file); });
}

std::optional<DataDescription> WindowSource::description() const {
  if (!tokens_.vocabulary().crc32c) return std::nullopt;
  DataDescription out;
  out.origin = files().front();
  out.files = files();
  out.vocabulary_crc32c = tokens_.vocabulary().crc32c;
  out.vocabulary_file = "of the tokens";
  out.all = Json::object();
  return out;
}

// The number of tokens in each file determines its skips, so the layout includes it.
Json WindowSource::layout() const {
  std::string counts;
  for (std::size_t file = 0; file < tokens_.count(); ++file)
    io::append_little_endian(counts, tokens_.tokens(file));
  Json out{{"windows", epoch_size()}, {"file_tokens_crc32c", io::crc32c(counts)}};
  if (transform_) out["window"] = transform_->settings;
  return out;
}

// If the largest id is not stored, checks the first and the last window of the file.
void WindowSource::check_file(std::size_t file) const {
  const io::Feature& feature = features().front();
  const std::uint64_t tokens = tokens_.tokens(file), id_limit = tokens_.id_limit(file);
  if (std::cmp_greater(id_limit, feature.limit))
    throw UsageError(str(files()[file], ": contains the id ", id_limit - 1, ", out of range for ",
                         feature.limit_name, " ", feature.limit),
                     "give tokens that were made with this vocabulary");
  if (id_limit > 0 || tokens < length_) return;
  std::vector<std::int32_t> ids(length_);
  for (const std::uint64_t first : {std::uint64_t{0}, tokens - length_}) {
    tokens_.read(file, first, ids);
    check_ids(file, first, ids);
  }
}

void WindowSource::check_ids(std::size_t file, std::uint64_t first,
                             std::span<const std::int32_t> ids) const {
  const io::Feature& feature = features().front();
  const auto bad =
      std::ranges::find_if(ids, [&](std::int32_t id) { return id < 0 || id >= feature.limit; });
  if (bad != ids.end())
    throw UsageError(
        str(files()[file], ": token ", first + static_cast<std::uint64_t>(bad - ids.begin()),
            " is ", *bad, ", out of range for ", feature.limit_name, " ", feature.limit),
        "give tokens that were made with this vocabulary");
}

// Reads all tokens that the windows of a block can have in any epoch.
WindowSource::Runs WindowSource::read_block(std::uint64_t block) const {
  Runs runs;
  std::vector<std::uint64_t> ends;
  const std::uint64_t last = std::min((block + 1) * block_, epoch_size());
  for (std::uint64_t window = block * block_; window < last; ++window) {
    const WindowPlace place = cuts_->reach(window);
    if (runs.empty() || runs.back().file != place.file) {
      runs.push_back({.file = place.file, .first = place.first, .ids = {}});
      ends.push_back(0);
    }
    ends.back() = std::max(ends.back(), place.end());
  }
  for (std::size_t i = 0; i < runs.size(); ++i) {
    runs[i].ids.resize(ends[i] - runs[i].first);
    tokens_.read(runs[i].file, runs[i].first, runs[i].ids);
  }
  return runs;
}

void WindowSource::put(const WindowPlace& place, std::span<const std::int32_t> ids,
                       const io::WindowKey& key, Batch& batch, std::size_t row) const {
  check_ids(place.file, place.first, ids);
  std::vector<std::span<std::int32_t>> example;
  for (HostArray& array : batch.arrays) {
    const auto values = array.values<std::int32_t>();
    const std::size_t count = values.size() / static_cast<std::size_t>(batch.rows);
    example.push_back(values.subspan(row * count, count));
  }
  if (transform_)
    transform_->make(ids, key, example);
  else
    std::ranges::copy(ids, example.front().begin());
}

void WindowSource::put_shuffled(std::span<const std::uint64_t> positions, Batch& batch) const {
  for (std::size_t row = 0; row < positions.size(); ++row) {
    const std::uint64_t window = order_(positions[row]);
    const auto runs = blocks_(window / block_);
    const WindowPlace place = cuts_->trained(window, positions[row] / epoch_size());
    const auto run = std::ranges::find(*runs, place.file, &Run::file);
    CHECK(run != runs->end(), window);
    put(place, std::span(run->ids).subspan(place.first - run->first, place.count),
        {train_key_, positions[row]}, batch, row);
  }
}

// Adjacent windows are read with one call.
void WindowSource::put_in_order(std::uint64_t first, std::uint64_t count, Batch& batch,
                                std::size_t row) const {
  std::vector<WindowPlace> places;
  for (std::uint64_t window = first; window < first + count; ++window)
    places.push_back(cuts_->in_order(window));
  std::vector<std::int32_t> ids;
  for (std::size_t begin = 0, end = 0; begin < places.size(); begin = end) {
    for (end = begin + 1; end < places.size() && places[end].file == places[begin].file &&
                          places[end].first == places[end - 1].end();)
      ++end;
    const std::uint64_t from = places[begin].first;
    ids.resize(places[end - 1].end() - from);
    tokens_.read(places[begin].file, from, ids);
    for (std::size_t i = begin; i < end; ++i)
      put(places[i], std::span(ids).subspan(places[i].first - from, places[i].count),
          {in_order_key_, first + i}, batch, row + i);
  }
}

}  // namespace smelt::data
