#include "cli/commands/bench_lengths.h"

#include <algorithm>
#include <charconv>
#include <sstream>

#include "base/error.h"
#include "base/philox.h"
#include "io/filesystem/file.h"

namespace smelt::cli {
namespace {

constexpr std::uint64_t kBatches = 32;

std::vector<std::int64_t> numbers_in(const std::string& file, std::int64_t most) {
  std::vector<std::int64_t> out;
  std::istringstream lines(io::read_file(file, io::kSmallFileBytes));
  for (std::string line; std::getline(lines, line);) {
    std::int64_t number = 0;
    const char* end = line.data() + line.size();
    if (std::from_chars(line.data(), end, number).ptr != end || number < 1 || number > most)
      throw UsageError(str("bench: --lengths ", file, ": line ", out.size() + 1, " is '", line,
                           "', expected a number from 1 to --seq ", most),
                       "write one number of tokens per line");
    out.push_back(number);
  }
  if (out.empty())
    throw UsageError(str("bench: --lengths ", file, " is empty"),
                     "write one number of tokens per line");
  return out;
}

}  // namespace

BenchLengths draw_lengths(const std::string& file, const data::PackingPlan& plan, bool packs) {
  const std::vector<std::int64_t> known = numbers_in(file, plan.length);
  std::vector<std::vector<std::int64_t>> batches(kBatches);
  std::vector<std::int64_t> needed;
  for (std::uint64_t i = 0; i < kBatches; ++i) {
    for (std::int64_t row = 0; row < plan.batch_size; ++row)
      batches[i].push_back(known[philox(2, i, static_cast<std::uint64_t>(row))[0] % known.size()]);
    if (packs) needed.push_back(data::pack_sequences(batches[i], plan).rows);
  }
  if (!packs) return {.tokens = batches.front(), .packing = {}};
  const data::PackingPlan packing = data::with_best_rows(plan, needed);
  const auto first =
      std::ranges::find_if(needed, [&](std::int64_t rows) { return rows <= packing.rows; });
  return {.tokens = batches[static_cast<std::size_t>(first - needed.begin())], .packing = packing};
}

data::Batch with_lengths(data::Batch batch, const io::Features& features,
                         const BenchLengths& lengths) {
  for (std::size_t f = 0; f < features.size(); ++f)
    for (std::size_t row = 0; row < lengths.tokens.size(); ++row) {
      const auto width = static_cast<std::size_t>(features[f].count());
      const auto tokens = lengths.tokens[row];
      if (features[f].name == "masked_lm_positions") {
        for (std::int32_t& at : batch.arrays[f].values<std::int32_t>().subspan(row * width, width))
          at %= static_cast<std::int32_t>(tokens);
      } else if (features[f].name == "input_mask") {
        const auto own = batch.arrays[f].values<std::int32_t>().subspan(row * width, width);
        std::ranges::fill(own.subspan(static_cast<std::size_t>(tokens)), 0);
      }
    }
  if (!lengths.packing) return batch;
  return data::pack(batch, features, *lengths.packing).value();
}

}  // namespace smelt::cli
