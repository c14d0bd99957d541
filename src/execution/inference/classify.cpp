#include "execution/inference/classify.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "base/error.h"
#include "base/number_format.h"
#include "base/parallel.h"
#include "execution/inference/answering_placement.h"
#include "execution/inference/row_model.h"

namespace smelt::execution {
namespace {

constexpr std::size_t kTextsOfThread = 64;

MemoryAdvice advice_to_predict() {
  return {"predict: the model with these texts", "lower --batch"};
}

}  // namespace

Classifier::Classifier(std::shared_ptr<const pjrt::Client> client, ClassifyJob job,
                       text::BertTokenizer tokenizer, checkpoint::SlicedTensors weights,
                       std::string where, std::shared_ptr<const void> owner)
    : client_(std::move(client)),
      job_(std::move(job)),
      tokenizer_(std::make_unique<const text::BertTokenizer>(std::move(tokenizer))),
      pairs_(*tokenizer_, job_.most_tokens),
      weights_(std::move(weights)),
      where_(std::move(where)),
      owner_(std::move(owner)) {
  placement_ = answering_placement(client_->platform_name(), job_.devices);
}

const Classifier::CompiledModel& Classifier::compiled(std::int64_t rows, std::int64_t S) {
  const auto found = compiled_.find({rows, S});
  if (found != compiled_.end()) return found->second;
  const auto precision = job_.exact_products ? model::Precision::f32_exact : model::Precision::f32;
  const model::ComputePolicy compute = with_int8_matmuls(
      weights_, model::compute_for(client_->platform_name(), {.precision = precision}, flag));
  CompiledModel made{
      .program = model::predict_program(job_.probabilities(S), rows, compute, placement_),
      .step = nullptr};
  made.step = std::make_unique<const CompiledStep>(client_, made.program, advice_to_predict());
  if (!state_)
    state_ = std::make_unique<const ModelState>(
        ModelState::restore(*client_, placement_, made.program.state, weights_, where_));
  return compiled_.emplace(std::pair{rows, S}, std::move(made)).first->second;
}

std::vector<text::TextPairIds> Classifier::encode(std::span<const PairOfTexts> texts) const {
  std::vector<text::TextPairIds> out(texts.size());
  run_each((texts.size() + kTextsOfThread - 1) / kTextsOfThread, available_threads(),
           [&](std::size_t part) {
             const std::size_t begin = part * kTextsOfThread;
             for (std::size_t i = begin; i < std::min(begin + kTextsOfThread, texts.size()); ++i)
               out[i] = of_tokens() ? pairs_.encode_words(text::words_in(texts[i].text))
                                    : pairs_.encode(texts[i].text, texts[i].pair);
           });
  return out;
}

void Classifier::predict_batch(std::span<const std::size_t> numbers,
                               std::span<const text::TextPairIds> texts,
                               std::vector<std::vector<float>>& out) {
  std::int64_t longest = 1;
  for (const std::size_t number : numbers)
    longest = std::max(longest, std::ssize(texts[number].ids));
  CHECK(longest <= job_.most_tokens, longest, " tokens, at most ", job_.most_tokens);
  const std::int64_t S = padded_length(longest, job_.most_tokens);
  const std::int64_t shards = placement_.row_shards();
  const auto wanted = static_cast<std::int64_t>(std::bit_ceil(numbers.size()));
  const std::int64_t rows = (std::min(job_.batch_size, wanted) + shards - 1) / shards * shards;
  const CompiledModel& model = compiled(rows, S);
  data::Batch batch = data::empty_batch(model.program.features, rows);
  const auto row_of = [&](std::size_t feature, std::size_t row) {
    return batch.arrays[feature].values<std::int32_t>().subspan(row * static_cast<std::size_t>(S));
  };
  for (std::size_t row = 0; row < numbers.size(); ++row) {
    const text::TextPairIds& text = texts[numbers[row]];
    std::ranges::copy(text.ids, row_of(0, row).begin());
    std::ranges::fill(row_of(1, row).first(text.ids.size()), 1);
    std::ranges::fill(row_of(2, row).first(text.ids.size()).subspan(text.first), 1);
  }
  const auto found = fitting(advice_to_predict(), [&] {
    pjrt::Execution execution = model.step->run(batch, *state_);
    execution.await();
    return execution.results[0][0].to_host<float>();
  });
  const auto C = static_cast<std::size_t>(job_.labels.outputs());
  const std::span<const float> all(found);
  for (std::size_t row = 0; row < numbers.size(); ++row) {
    auto& of_text = out[numbers[row]];
    const auto put = [&](std::size_t at) {
      const auto one = all.subspan(at * C, C);
      of_text.insert(of_text.end(), one.begin(), one.end());
    };
    if (!of_tokens()) put(row);
    for (const std::size_t word : texts[numbers[row]].words)
      put(row * static_cast<std::size_t>(S) + word);
  }
}

std::vector<std::vector<float>> Classifier::classify(std::span<const PairOfTexts> texts) {
  const auto encoded = encode(texts);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    cut_ += encoded[i].cut > 0 ? 1 : 0;
    if (std::ranges::find(encoded[i].ids, tokenizer_->unknown()) == encoded[i].ids.end()) continue;
    text::count_unknown_characters(texts[i].text, texts[i].pair, *tokenizer_, tokens_.characters);
  }
  return classify(encoded);
}

// Batches texts of similar length, so that there is little padding.
std::vector<std::vector<float>> Classifier::classify(std::span<const text::TextPairIds> texts) {
  for (const text::TextPairIds& text : texts) tokens_.add(text.ids, tokenizer_->unknown());
  std::vector<std::size_t> order(texts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return texts[i].ids.size(); });
  std::vector<std::vector<float>> out(texts.size());
  const std::span<const std::size_t> all(order);
  const auto size = static_cast<std::size_t>(job_.batch_size);
  for (std::size_t at = 0; at < all.size(); at += size)
    predict_batch(all.subspan(at, std::min(size, all.size() - at)), texts, out);
  return out;
}

std::vector<std::string> predicted_classes(const io::Labels& labels,
                                           std::span<const float> numbers) {
  constexpr float kPredicted = 0.5F;
  std::vector<std::string> out;
  for (std::size_t i = 0; i < numbers.size(); ++i)
    if (numbers[i] >= kPredicted) out.push_back(labels.names[i]);
  return out;
}

std::string said_label(const io::Labels& labels, std::span<const float> numbers) {
  switch (labels.problem) {
    case io::Problem::single_label:
      return labels
          .names[static_cast<std::size_t>(std::ranges::max_element(numbers) - numbers.begin())];
    case io::Problem::multi_label:
      return io::class_names_text(predicted_classes(labels, numbers));
    default:
      return str(numbers.front());
  }
}

}  // namespace smelt::execution
