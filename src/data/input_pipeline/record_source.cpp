#include "data/input_pipeline/record_source.h"

#include <algorithm>

#include "base/error.h"
#include "base/log.h"
#include "base/parallel.h"
#include "base/philox.h"
#include "base/plural.h"
#include "data/input_pipeline/put_record.h"
#include "io/formats/example.h"

namespace smelt::data {
namespace {

[[noreturn]] void refuse_kind(const std::string& what, const std::string& kind) {
  throw UsageError(str(what, ", not ", kind), str("give records that were made for ", kind));
}

void check_foreign(std::string_view record, const std::string& place,
                   const RecordOptions& options) {
  if (options.foreign.empty()) return;
  const std::vector<std::string> names = io::Example(record, place).names();
  for (const io::ForeignFeature& feature : options.foreign)
    if (std::ranges::find(names, feature.name) != names.end())
      refuse_kind(str(place, ": ", feature.name, " is a feature of examples for ", feature.kind),
                  options.kind);
}

std::optional<LengthGroups> groups_of(const RecordOptions& options) {
  if (options.lengths.size() < 2) return std::nullopt;
  return LengthGroups{.tokens = options.tokens,
                      .lengths = options.lengths,
                      .key = random_key(options.seed, "batches by length")};
}

}  // namespace

RecordSource::RecordSource(const RecordOptions& options)
    : ExampleSource(options.features, groups_of(options)),
      lengths_(options.lengths),
      index_(record_files(options.input, "training data")),
      order_(index_.size(), block_of_records(index_), random_key(options.seed, "records")),
      blocks_(index_, block_of_records(index_), kKeptBlocks) {
  const auto described = find_description(files());
  if (described && !described->kind.empty() && !options.kind.empty() &&
      described->kind != options.kind)
    refuse_kind(str(described->origin, ": describes examples for ", described->kind), options.kind);
  if (described)
    if (const auto missing = left_out(*described, files()); !missing.empty())
      log_warning("{}: {}; the given files contain {}{}", described->origin,
                  missing_files_text(*described, missing), counted(index_.size(), "example"),
                  described->examples ? str(" of ", *described->examples) : "");
  run_each(index_.files().size(), kSideBySide, [&](std::size_t file) {
    const std::uint64_t first = index_.first_of(file);
    if (first == index_.first_of(file + 1)) return;
    const std::string record = index_.read(first);
    check_foreign(record, index_.place(first), options);
    Batch ignored = empty_batch(features(), 1);
    put_record(record, index_, first, features(), ignored, 0);
  });
  bool is_known = true;
  for (std::size_t file = 0; file < files().size(); ++file)
    if (const std::uint64_t first = index_.first_of(file); first < index_.first_of(file + 1))
      is_known = is_known && index_.tokens(first).has_value();
  if (lengths_.size() > 1 && !is_known) count_tokens(options.tokens);
}

// Counts tokens by reading the records, to replace a missing index.
void RecordSource::count_tokens(const std::string& feature) {
  constexpr std::uint64_t kAtOnce = 1024;
  const std::size_t at = find_feature(features(), feature);
  for (std::uint64_t first = 0; first < size(); first += kAtOnce) {
    const Batch batch = examples_in_order(first, std::min(kAtOnce, size() - first));
    const auto values = batch.arrays[at].values<std::int32_t>();
    const std::size_t length = values.size() / static_cast<std::size_t>(batch.rows);
    for (std::size_t begin = 0; begin < values.size(); begin += length)
      tokens_.push_back(static_cast<std::uint32_t>(
          length - static_cast<std::size_t>(std::ranges::count(values.subspan(begin, length), 0))));
  }
}

std::optional<DataDescription> RecordSource::description() const {
  auto found = find_description(files());
  if (found && found->files.size() != files().size()) return std::nullopt;
  return found;
}

// Grouping by length changes the batches, so the layout includes the lengths.
Json RecordSource::layout() const {
  auto out = Json::object();
  if (lengths_.size() > 1) out["lengths"] = lengths_;
  return out;
}

std::uint64_t RecordSource::tokens_at(std::uint64_t position) const {
  const std::uint64_t record = order_(position);
  return tokens_.empty() ? index_.tokens(record).value_or(0) : tokens_[record];
}

void RecordSource::put_shuffled(std::span<const std::uint64_t> positions, Batch& batch) const {
  std::vector<std::uint64_t> records(positions.begin(), positions.end());
  std::ranges::transform(records, records.begin(), order_);
  blocks_.read(records, [&](std::string_view data, std::size_t row) {
    put_record(data, index_, records[row], features(), batch, row);
  });
}

void RecordSource::put_in_order(std::uint64_t first, std::uint64_t count, Batch& batch,
                                std::size_t row) const {
  std::string buffer;
  index_.read(first, count, buffer, [&](std::uint64_t record, std::string_view data) {
    put_record(data, index_, record, features(), batch, row++);
  });
}

}  // namespace smelt::data
