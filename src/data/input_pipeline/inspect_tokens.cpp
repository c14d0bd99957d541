#include "data/input_pipeline/inspect_tokens.h"

#include <algorithm>
#include <limits>
#include <mutex>

#include "base/error.h"
#include "base/parallel.h"
#include "data/input_pipeline/data_paths.h"

namespace smelt::data {
namespace {

constexpr std::uint64_t kChunkTokens = 1 << 20;  // tokens that a thread processes at once
constexpr std::uint64_t kShownTokens = 64;

struct Chunk {
  std::size_t file = 0;
  std::uint64_t first = 0, count = 0;
};

std::vector<Chunk> chunks_of(const TokenFiles& tokens) {
  std::vector<Chunk> chunks;
  for (std::size_t file = 0; file < tokens.count(); ++file)
    for (std::uint64_t first = 0; first < tokens.tokens(file); first += kChunkTokens)
      chunks.push_back({file, first, std::min(kChunkTokens, tokens.tokens(file) - first)});
  return chunks;
}

// The counts of one chunk.
struct ChunkCount {
  Range<std::int32_t> ids{std::numeric_limits<std::int32_t>::max(), 0};
  std::uint64_t out_of_range = 0;
  std::string first_out_of_range;
};

ChunkCount count(const TokenFiles& tokens, const Chunk& chunk, std::int64_t limit) {
  ChunkCount out;
  std::vector<std::int32_t> ids(chunk.count);
  tokens.read(chunk.file, chunk.first, ids);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    out.ids = {std::min(out.ids.smallest, ids[i]), std::max(out.ids.largest, ids[i])};
    if (limit > 0 && ids[i] >= limit && out.out_of_range++ == 0)
      out.first_out_of_range =
          str(tokens.paths()[chunk.file], ": token ", chunk.first + i, " is ", ids[i]);
  }
  return out;
}

TokenRun sample_at(const TokenFiles& tokens, std::uint64_t token) {
  std::size_t file = 0;
  while (token >= tokens.tokens(file)) token -= tokens.tokens(file++);
  TokenRun run{.place = str(tokens.paths()[file], ": token ", token), .ids = {}};
  run.ids.resize(std::min(kShownTokens, tokens.tokens(file) - token));
  tokens.read(file, token, run.ids);
  return run;
}

}  // namespace

TokenStatistics inspect_tokens(const InspectOptions& options, std::int64_t limit) {
  const TokenFiles tokens(data_paths(options.input, "inspect"));
  const std::vector<Chunk> chunks = chunks_of(tokens);
  std::vector<ChunkCount> counts(chunks.size());
  run_each(chunks.size(), options.threads > 0 ? options.threads : available_threads(),
           [&](std::size_t i) { counts[i] = count(tokens, chunks[i], limit); });
  TokenStatistics out;
  out.files = tokens.count();
  out.vocabulary = tokens.vocabulary();
  for (std::size_t file = 0; file < tokens.count(); ++file) {
    out.tokens += tokens.tokens(file);
    out.documents += tokens.documents(file);
  }
  if (counts.empty()) return out;
  out.ids = counts.front().ids;
  for (const ChunkCount& one : counts) {
    out.ids = {std::min(out.ids.smallest, one.ids.smallest),
               std::max(out.ids.largest, one.ids.largest)};
    if (out.out_of_range == 0) out.first_out_of_range = one.first_out_of_range;
    out.out_of_range += one.out_of_range;
  }
  const auto samples = static_cast<std::uint64_t>(std::max<std::int64_t>(1, options.samples));
  for (std::uint64_t i = 0; i < std::min(samples, out.tokens); ++i)
    out.samples.push_back(sample_at(tokens, i * (out.tokens / samples)));
  return out;
}

}  // namespace smelt::data
