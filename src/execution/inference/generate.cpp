#include "execution/inference/generate.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "base/machine.h"
#include "base/plural.h"
#include "base/progress.h"
#include "execution/inference/answering_placement.h"

namespace smelt::execution {
namespace {

// Inputs are padded to at least this length, so that fewer programs are compiled.
constexpr std::int64_t kLeastInputs = 16;

std::int64_t power_of_two(std::int64_t least) {
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(least)));
}

}  // namespace

Generator::Generator(std::shared_ptr<const pjrt::Client> client, GenerateJob job,
                     checkpoint::SlicedTensors weights, std::string where,
                     std::shared_ptr<const void> owner)
    : client_(std::move(client)),
      job_(std::move(job)),
      weights_(std::move(weights)),
      where_(std::move(where)),
      owner_(std::move(owner)) {
  placement_ =
      answering_placement(client_->platform_name(), job_.devices, job_.mesh, job_.dim_names);
  // Throws UsageError for a search that the model does not support.
  (void)job_.answers(kLeastInputs, job_.search);
}

MemoryAdvice Generator::advice() const {
  return {"generate: the model with these texts", job_.hint};
}

std::size_t Generator::next_batch(std::span<const std::vector<std::int32_t>> left) {
  const auto asked = std::min(left.size(), static_cast<std::size_t>(job_.batch_size));
  const double memory = machine_memory();
  for (std::size_t count = asked;; count = (count + 1) / 2) {
    const auto [rows, S] = sizes_of(left.first(count));
    // On the CPU the KV cache is in host memory. Other devices have their own memory, which is not
    // checked here.
    const std::int64_t of_machine =
        job_.device == "cpu" ? rows * model::rows_of_text(job_.search) : 0;
    const double kept = job_.bytes(of_machine, S, job_.search.most_tokens);
    if (kept <= memory) {
      if (count < asked && !std::exchange(has_logged_memory_, true))
        log_info("generate: batches of {}, because {} do not fit into this machine's memory",
                 counted(count, "text"), asked);
      return count;
    }
    if (count == 1)
      throw UsageError(
          str("generate: ", counted(rows, "text"), " of ", S, " tokens with answers of ",
              job_.search.most_tokens, " take about ", bytes_text(kept),
              ", more than this machine's memory of ", bytes_text(memory)),
          job_.hint);
  }
}

Generator::BatchSizes Generator::sizes_of(std::span<const std::vector<std::int32_t>> inputs) const {
  std::int64_t longest = kLeastInputs;
  for (const auto& ids : inputs) longest = std::max(longest, std::ssize(ids));
  const std::int64_t shards = placement_.row_shards();
  const std::int64_t rows = std::min(job_.batch_size, power_of_two(std::ssize(inputs)));
  return {.rows = std::max((rows + shards - 1) / shards * shards, shards),
          .S = std::min(power_of_two(longest), std::max(job_.most_inputs, longest))};
}

const Generator::CompiledModel& Generator::compiled(std::int64_t rows, std::int64_t S) {
  const auto found = compiled_.find({rows, S});
  if (found != compiled_.end()) return found->second;
  CompiledModel made{
      .program = model::predict_program(
          job_.answers(S, job_.search), rows,
          with_int8_matmuls(weights_, {.exact_products = job_.exact_products}), placement_),
      .step = nullptr};
  made.step = std::make_unique<const CompiledStep>(client_, made.program, advice());
  return compiled_.emplace(std::pair{rows, S}, std::move(made)).first->second;
}

void Generator::take(checkpoint::SlicedTensors weights, std::string where) {
  weights_ = std::move(weights);
  where_ = std::move(where);
  state_.reset();
}

std::vector<std::vector<std::int32_t>> Generator::encode(std::span<const std::string> texts) const {
  std::vector<std::vector<std::int32_t>> out;
  std::size_t cut = 0;
  for (const std::string& text : texts) {
    std::vector<std::int32_t>& ids = out.emplace_back(job_.encode(job_.prefix.value_or("") + text));
    if (std::ssize(ids) <= job_.most_inputs) continue;
    ids.resize(static_cast<std::size_t>(job_.most_inputs));
    ids.back() = job_.end;
    ++cut;
  }
  if (cut > 0)
    log_warning("generate: {} longer than {} tokens and truncated; see {}",
                counted(cut, "text is", "texts are"), job_.most_inputs, job_.inputs_name);
  return out;
}

std::vector<std::vector<Answer>> Generator::generate_batch(
    std::span<const std::vector<std::int32_t>> inputs, std::int64_t first) {
  const auto [rows, S] = sizes_of(inputs);
  const CompiledModel& model = compiled(rows, S);
  if (!state_)
    state_ = std::make_unique<const ModelState>(
        ModelState::restore(*client_, placement_, model.program.state, weights_, where_));
  data::Batch batch = data::empty_batch(model.program.features, rows);
  for (std::size_t row = 0; row < inputs.size(); ++row)
    std::ranges::copy(inputs[row], batch.arrays[0].values<std::int32_t>().begin() +
                                       static_cast<std::ptrdiff_t>(row) * S);
  for (std::int64_t row = 0; job_.search.sample && row < rows; ++row) {
    const auto at = static_cast<std::size_t>(row);
    batch.arrays[1].values<std::int32_t>()[at] = static_cast<std::int32_t>(first + row);
    batch.arrays[2].values<std::int32_t>()[at] = static_cast<std::int32_t>(job_.seed);
  }
  const pjrt::Execution done = fitting(advice(), [&] {
    pjrt::Execution execution = model.step->run(batch, *state_);
    execution.await();
    return execution;
  });
  const auto ids = done.results[0][0].to_host<std::int32_t>();
  const auto scores = done.results[0][1].to_host<float>();
  const auto T = static_cast<std::size_t>(job_.search.most_tokens);
  const auto A = static_cast<std::size_t>(job_.search.answers);
  std::vector<std::vector<Answer>> out(inputs.size());
  // Score of unused beams, if there are fewer candidate tokens than beams.
  constexpr float kNoAnswer = -1e8F;
  for (std::size_t i = 0; i < inputs.size() * A; ++i) {
    if (scores[i] < kNoAnswer) continue;
    const std::span<const std::int32_t> generated(ids.data() + i * T, T);
    out[i / A].push_back(answer_of(generated, scores[i]));
  }
  return out;
}

// Returns the answer up to the end token. As in transformers, padding tokens among the generated
// ids are not part of the text, although `score` includes them.
Answer Generator::answer_of(std::span<const std::int32_t> generated, float score) const {
  const auto end = std::ranges::find(generated, job_.end);
  std::vector<std::int32_t> words(generated.begin(), end);
  std::erase(words, 0);
  Answer out{.text = job_.decode(words), .ids = {generated.begin(), end}, .score = score};
  while (end == generated.end() && !out.ids.empty() && out.ids.back() == 0) out.ids.pop_back();
  if (end != generated.end()) out.ids.push_back(job_.end);
  return out;
}

std::vector<std::vector<Answer>> Generator::answer(std::span<const std::string> texts,
                                                   std::int64_t first) {
  const auto inputs = encode(texts);
  return answer(std::span<const std::vector<std::int32_t>>(inputs), first);
}

std::vector<std::vector<Answer>> Generator::answer(std::span<const std::vector<std::int32_t>> all,
                                                   std::int64_t first) {
  std::vector<std::vector<Answer>> out;
  for (std::size_t at = 0; at < all.size();) {
    const std::size_t count = prepare(all.subspan(at));
    auto of = generate_batch(all.subspan(at, count), first + static_cast<std::int64_t>(at));
    std::ranges::move(of, std::back_inserter(out));
    at += count;
  }
  return out;
}

std::size_t Generator::prepare(std::span<const std::vector<std::int32_t>> inputs) {
  const std::size_t count = next_batch(inputs);
  const auto [rows, S] = sizes_of(inputs.first(count));
  (void)compiled(rows, S);
  return count;
}

void take_options(GenerateJob& job, const GenerateOptions& with) {
  const std::optional<std::string> own = job.prefix;
  static_cast<GenerateOptions&>(job) = with;
  if (!job.prefix) job.prefix = own;
}

}  // namespace smelt::execution
