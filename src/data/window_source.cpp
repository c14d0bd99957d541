#include "data/window_source.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/parallel.h"
#include "base/philox.h"
#include "data/record_blocks.h"
#include "data/record_index.h"
#include "format/crc32c.h"
#include "format/little_endian.h"

namespace smelt {
namespace {

// The length of the windows.
std::uint64_t checked_length(const Features& features, const std::string& path) {
  const bool fits = features.size() == 1 && features.front().dtype == DType::s32 &&
                    features.front().row.size() == 1 && features.front().row.front() > 0;
  if (fits) return static_cast<std::uint64_t>(features.front().row.front());
  std::vector<std::string> names;
  for (const Feature& feature : features) names.push_back(feature.name);
  throw UsageError(str(path, ": holds tokens alone, the training wants ", join(names, ", ")),
                   "make records of the text, or train a model of plain tokens");
}

std::uint64_t trained_windows(std::uint64_t tokens, std::uint64_t length) {
  return tokens < length ? 0 : std::max<std::uint64_t>(1, (tokens - length + 1) / length);
}

template <class Count>
std::vector<std::uint64_t> add_up(const TokenFiles& tokens, const Count& count) {
  std::vector<std::uint64_t> sums{0};
  for (std::size_t file = 0; file < tokens.count(); ++file)
    sums.push_back(sums.back() + count(tokens.tokens(file)));
  if (sums.back() == 0) {
    std::uint64_t longest = 0;
    for (std::size_t file = 0; file < tokens.count(); ++file)
      longest = std::max(longest, tokens.tokens(file));
    throw UsageError(
        str(join(tokens.paths(), ", "), ": no window: the longest file holds ", longest, " tokens"),
        "give longer files, or shorten the model's sequences");
  }
  return sums;
}

std::size_t file_of(const std::vector<std::uint64_t>& first, std::uint64_t window) {
  return static_cast<std::size_t>(std::ranges::upper_bound(first, window) - first.begin()) - 1;
}

}  // namespace

WindowSource::WindowSource(const RecordOptions& options, std::vector<std::string> paths,
                           std::uint64_t memory)
    : ExampleSource(options.features),
      length_(checked_length(options.features, paths.front())),
      tokens_(std::move(paths), memory),
      trained_(add_up(tokens_, [&](std::uint64_t n) { return trained_windows(n, length_); })),
      in_order_(add_up(tokens_, [&](std::uint64_t n) { return n / length_; })),
      skip_key_(random_key(options.seed, "skips of files")),
      block_(block_of_examples(length_ * sizeof(std::int32_t))),
      order_(epoch_size(), block_, random_key(options.seed, "windows")),
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
  out.all = nlohmann::json::object();
  return out;
}

// Each file's number of tokens bounds its skips.
nlohmann::json WindowSource::layout() const {
  std::string counts;
  for (std::size_t file = 0; file < tokens_.count(); ++file)
    append_little_endian(counts, tokens_.tokens(file));
  return {{"windows", epoch_size()}, {"file_tokens_crc32c", crc32c(counts)}};
}

std::uint64_t WindowSource::skips(std::size_t file) const {
  const std::uint64_t windows = trained_[file + 1] - trained_[file];
  return std::min(length_, tokens_.tokens(file) - windows * length_ + 1);
}

std::uint64_t WindowSource::skip(std::size_t file, std::uint64_t epoch) const {
  const auto bits = philox(skip_key_, epoch, file);
  return (std::uint64_t{bits[1]} << 32 | bits[0]) % skips(file);
}

// Where nothing tells the largest id, the first and the last window stand for the file.
void WindowSource::check_file(std::size_t file) const {
  const Feature& feature = features().front();
  const std::uint64_t tokens = tokens_.tokens(file), id_limit = tokens_.id_limit(file);
  if (std::cmp_greater(id_limit, feature.limit))
    throw UsageError(str(files()[file], ": holds the id ", id_limit - 1, ", out of range for ",
                         feature.limit_name, " ", feature.limit),
                     "were the tokens made with this vocabulary?");
  if (id_limit > 0 || tokens < length_) return;
  std::vector<std::int32_t> ids(length_);
  for (const std::uint64_t first : {std::uint64_t{0}, tokens - length_}) {
    tokens_.read(file, first, ids);
    check_ids(file, first, ids);
  }
}

void WindowSource::check_ids(std::size_t file, std::uint64_t first,
                             std::span<const std::int32_t> ids) const {
  const Feature& feature = features().front();
  const auto bad =
      std::ranges::find_if(ids, [&](std::int32_t id) { return id < 0 || id >= feature.limit; });
  if (bad != ids.end())
    throw UsageError(
        str(files()[file], ": token ", first + static_cast<std::uint64_t>(bad - ids.begin()),
            " is ", *bad, ", out of range for ", feature.limit_name, " ", feature.limit),
        "were the tokens made with this vocabulary?");
}

// With the tokens that any skip may reach.
WindowSource::Runs WindowSource::read_block(std::uint64_t block) const {
  Runs runs;
  const std::uint64_t last = std::min((block + 1) * block_, epoch_size());
  for (std::uint64_t window = block * block_; window < last;) {
    const std::size_t file = file_of(trained_, window);
    const std::uint64_t end = std::min(last, trained_[file + 1]);
    Run run{.file = file, .first = (window - trained_[file]) * length_, .ids = {}};
    run.ids.resize((end - window) * length_ + skips(file) - 1);
    tokens_.read(file, run.first, run.ids);
    runs.push_back(std::move(run));
    window = end;
  }
  return runs;
}

void WindowSource::put_shuffled(std::span<const std::uint64_t> positions, Batch& batch) const {
  const auto out = batch.arrays.front().values<std::int32_t>();
  for (std::size_t row = 0; row < positions.size(); ++row) {
    const std::uint64_t window = order_(positions[row]);
    const auto runs = blocks_(window / block_);
    const std::size_t file = file_of(trained_, window);
    const auto run = std::ranges::find(*runs, file, &Run::file);
    CHECK(run != runs->end(), window);
    const std::uint64_t first =
        (window - trained_[file]) * length_ + skip(file, positions[row] / epoch_size());
    const auto ids = std::span(run->ids).subspan(first - run->first, length_);
    check_ids(file, first, ids);
    std::ranges::copy(ids, out.subspan(row * length_).begin());
  }
}

void WindowSource::put_in_order(std::uint64_t first, std::uint64_t count, Batch& batch,
                                std::size_t row) const {
  auto out = batch.arrays.front().values<std::int32_t>().subspan(row * length_);
  for (const std::uint64_t last = first + count; first < last;) {
    const std::size_t file = file_of(in_order_, first);
    const std::uint64_t end = std::min(last, in_order_[file + 1]);
    const auto ids = out.first((end - first) * length_);
    const std::uint64_t token = (first - in_order_[file]) * length_;
    tokens_.read(file, token, ids);
    check_ids(file, token, ids);
    out = out.subspan(ids.size());
    first = end;
  }
}

}  // namespace smelt
