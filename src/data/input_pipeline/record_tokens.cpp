#include "data/input_pipeline/record_tokens.h"

#include <algorithm>

#include "base/error.h"
#include "data/input_pipeline/record_features.h"
#include "data/input_pipeline/record_index_file.h"
#include "io/formats/tfrecord.h"

namespace smelt::data {
namespace {

std::uint64_t count_ones(const io::Example& example, std::string_view mask) {
  const auto& values = example.integers(mask);
  return static_cast<std::uint64_t>(std::ranges::count(values, 1));
}

}  // namespace

std::vector<std::uint32_t> token_counts(const RecordIndex& index, std::string_view mask) {
  std::vector<std::uint32_t> counts(index.size());
  std::string buffer;
  for (std::size_t file = 0; file < index.files().size(); ++file) {
    const std::uint64_t first = index.first_of(file), last = index.first_of(file + 1);
    if (first == last) continue;
    if (index.tokens(first))
      for (std::uint64_t record = first; record < last; ++record)
        counts[record] = static_cast<std::uint32_t>(*index.tokens(record));
    else
      index.read(first, last - first, buffer, [&](std::uint64_t record, std::string_view data) {
        counts[record] =
            static_cast<std::uint32_t>(count_ones(io::Example(data, index.place(record)), mask));
      });
  }
  return counts;
}

std::uint64_t index_records(const std::string& file, std::string_view mask) {
  const RecordIndex index({file});
  if (mask.empty() &&
      find_feature(first_features(index), kTokenMask, io::ExampleKind::integers) != nullptr)
    mask = kTokenMask;
  RecordIndexBuilder builder;
  std::string buffer, framed;
  index.read(0, index.size(), buffer, [&](std::uint64_t record, std::string_view data) {
    const io::Example example(data, index.place(record));
    framed.clear();
    io::append_record(framed, data);
    std::optional<std::uint64_t> tokens;
    if (!mask.empty()) tokens = count_ones(example, mask);
    builder.add(framed, tokens);
  });
  builder.write(file);
  return index.size();
}

}  // namespace smelt::data
