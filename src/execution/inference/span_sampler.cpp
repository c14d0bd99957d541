#include "execution/inference/span_sampler.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/number_format.h"
#include "model/tasks/t5_answers.h"

namespace smelt::execution {
namespace {

constexpr std::string_view kMaskWord = "[MASK]";
constexpr std::int64_t kTokensOfSpan = 8;  // assumed length of a span, including its sentinel

std::vector<TokenRow> span_rows(const SpanJob& job, const std::vector<std::string>& texts) {
  std::vector<TokenRow> out;
  for (const std::string& text : texts) out.push_back(span_row(job, text));
  return out;
}

std::int64_t longest_answer(const std::vector<TokenRow>& rows) {
  std::size_t most = 0;
  for (const TokenRow& row : rows) most = std::max(most, row.positions.size());
  return static_cast<std::int64_t>(most) * kTokensOfSpan;
}

}  // namespace

TokenRow span_row(const SpanJob& job, std::string_view text) {
  TokenRow out;
  const auto append = [&](std::string_view part) {
    const auto ids = job.encode(part);
    out.ids.insert(out.ids.end(), ids.begin(), ids.end());
  };
  std::string_view rest = text;
  for (auto at = rest.find(kMaskWord); at != rest.npos; at = rest.find(kMaskWord)) {
    append(rest.substr(0, at));
    const auto span = static_cast<std::int32_t>(out.positions.size());
    if (span >= job.sentinels)
      throw UsageError(str("fill: more than ", job.sentinels, " [MASK] in '", text, "'"),
                       "the vocabulary has no more sentinels; split the text");
    out.positions.push_back(static_cast<std::int32_t>(out.ids.size()));
    out.ids.push_back(job.sentinel - span);
    rest.remove_prefix(at + kMaskWord.size());
  }
  append(rest);
  out.ids.push_back(job.end);
  if (out.positions.empty())
    throw UsageError(str("fill: no [MASK] in '", text, "'"), "put [MASK] where words are missing");
  return out;
}

std::vector<std::vector<std::int32_t>> spans_of(const SpanJob& job, std::size_t count,
                                                std::span<const std::int32_t> answer) {
  std::vector<std::vector<std::int32_t>> out(count);
  std::size_t at = count;  // no sentinel was generated yet
  for (const std::int32_t id : answer) {
    if (id == job.end) break;
    if (id == 0) continue;  // padding
    if (id <= job.sentinel && id > job.sentinel - job.sentinels)
      at = static_cast<std::size_t>(job.sentinel - id);
    else if (at < count)
      out[at].push_back(id);
  }
  return out;
}

SpanSampler::SpanSampler(std::shared_ptr<const pjrt::Client> client, SpanJob job,
                         std::vector<std::string> texts, const model::ShardingPlan& placement)
    : job_(std::move(job)),
      texts_(std::move(texts)),
      rows_(span_rows(job_, texts_)),
      most_tokens_(longest_answer(rows_)) {
  std::int64_t longest = 1;
  for (const TokenRow& row : rows_) longest = std::max(longest, std::ssize(row.ids));
  model_ = std::make_unique<RowModel>(
      std::move(client),
      [model = job_.model, words = job_.words, most = most_tokens_](std::int64_t S, std::int64_t) {
        return model::t5_answers(model, S, {.most_tokens = most}, words);
      },
      RowModelOptions{.command = "fill",
                      .most_tokens = longest,
                      .exact_products = job_.exact_products,
                      .placement = placement});
  model_->prepare(rows_);
}

std::vector<TextSample> SpanSampler::sample(const checkpoint::SlicedTensors& tensors,
                                            const std::string& where) const {
  model_->take({std::make_shared<const checkpoint::SlicedTensors>(tensors), where});
  const pjrt::Execution execution = model_->predict(rows_).execution;
  model_->take({});  // frees device memory for training
  const auto ids = execution.results[0][0].to_host<std::int32_t>();
  const auto scores = execution.results[0][1].to_host<float>();
  std::vector<TextSample> out;
  for (std::size_t row = 0; row < texts_.size(); ++row) {
    const auto length = static_cast<std::size_t>(most_tokens_);
    const auto answer = std::span(ids).subspan(row * length, length);
    evaluation::Record masks = evaluation::Record::array();
    std::string line = texts_[row] + " :";
    for (const auto& span : spans_of(job_, rows_[row].positions.size(), answer)) {
      const std::string filled = job_.decode(span);
      masks.emplace_back(evaluation::Record::array())
          .push_back(evaluation::Record::array({filled, to_f32_digits(std::exp(scores[row]))}));
      line += str(" '", filled, "'");
    }
    out.push_back(
        {.line = std::move(line), .fields = {{"text", texts_[row]}, {"masks", std::move(masks)}}});
  }
  return out;
}

}  // namespace smelt::execution
