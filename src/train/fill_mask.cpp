#include "train/fill_mask.h"

#include <algorithm>

#include "base/error.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/layout.h"
#include "runtime/executable.h"
#include "train/model_state.h"
#include "train/pretraining.h"

namespace smelt {
namespace {

constexpr std::string_view kMask = "[MASK]";

struct EncodedText {
  std::vector<std::int32_t> ids;
  std::vector<std::int32_t> mask_positions;
};

// [CLS] pieces [SEP]; each [MASK] of the text stays one token.
EncodedText encode(const BertTokenizer& tokenizer, std::string_view text) {
  const Vocabulary& vocabulary = tokenizer.vocabulary();
  EncodedText encoded{.ids = {vocabulary.id("[CLS]")}, .mask_positions = {}};
  const auto append = [&](std::string_view part) {
    const auto ids = tokenizer.encode(part);
    encoded.ids.insert(encoded.ids.end(), ids.begin(), ids.end());
  };
  std::string_view rest = text;
  for (auto at = rest.find(kMask); at != std::string_view::npos; at = rest.find(kMask)) {
    append(rest.substr(0, at));
    encoded.mask_positions.push_back(static_cast<std::int32_t>(encoded.ids.size()));
    encoded.ids.push_back(vocabulary.id(kMask));
    rest.remove_prefix(at + kMask.size());
  }
  append(rest);
  encoded.ids.push_back(vocabulary.id("[SEP]"));
  if (encoded.mask_positions.empty())
    throw UsageError(str("fill: no [MASK] in '", text, "'"), "put [MASK] where a word is missing");
  return encoded;
}

// The texts as one padded batch.
struct FillBatch {
  explicit FillBatch(const std::vector<EncodedText>& texts) {
    shape.batch_size = std::ssize(texts);
    shape.seq_length = shape.max_predictions = 1;
    for (const EncodedText& text : texts) {
      shape.seq_length = std::max(shape.seq_length, std::ssize(text.ids));
      shape.max_predictions = std::max(shape.max_predictions, std::ssize(text.mask_positions));
    }
    ids.resize(shape.batch_size * shape.seq_length);
    mask = segments = ids;
    positions.resize(shape.batch_size * shape.max_predictions);
    for (std::int64_t i = 0; i < shape.batch_size; ++i) {
      std::ranges::copy(texts[i].ids, ids.begin() + i * shape.seq_length);
      std::fill_n(mask.begin() + i * shape.seq_length, texts[i].ids.size(), 1);
      std::ranges::copy(texts[i].mask_positions, positions.begin() + i * shape.max_predictions);
    }
  }

  BatchShape shape;
  std::vector<std::int32_t> ids, mask, segments, positions;
};

struct TopGuesses {
  std::vector<float> probabilities;  // [texts * max_predictions, top]
  std::vector<std::int32_t> ids;
};

TopGuesses predict(const FillMaskJob& job, const FillBatch& batch) {
  const auto checkpoint = load_latest_checkpoint(job.model_dir);
  if (!checkpoint) throw UsageError(str("fill: no checkpoint in ", job.model_dir), "train first");
  PretrainingConfig config;
  config.model = job.model;
  config.batch = batch.shape;
  PretrainingProgram program;
  build_predict_step(config, job.top, program);
  const auto client = open_device(job.device, 1);
  const Executable executable = client->compile(emit_module(program.program, "predict"));
  const ModelState state =
      ModelState::restore(*client, 1, program.parameters, StateParts::values, checkpoint->tensors,
                          checkpoint_path(job.model_dir, checkpoint->step));
  const Shape sequence{DType::s32, {batch.shape.batch_size, batch.shape.seq_length}};
  std::vector<Buffer> inputs;
  for (const auto* values : {&batch.ids, &batch.mask, &batch.segments})
    inputs.push_back(to_device(*client, *values, sequence));
  inputs.push_back(to_device(*client, batch.positions,
                             {DType::s32, {batch.shape.batch_size, batch.shape.max_predictions}}));
  std::vector<const Buffer*> arguments;
  for (const Buffer& buffer : inputs) arguments.push_back(&buffer);
  for (const Buffer* buffer : state.on_device(0)) arguments.push_back(buffer);
  const Execution execution = executable.execute({arguments});
  return {.probabilities = execution.results[0][0].to_host<float>(),
          .ids = execution.results[0][1].to_host<std::int32_t>()};
}

}  // namespace

std::vector<FilledText> fill_masks(const FillMaskJob& job, const BertTokenizer& tokenizer,
                                   const std::vector<std::string>& texts) {
  std::vector<EncodedText> encoded;
  for (const std::string& text : texts) encoded.push_back(encode(tokenizer, text));
  const FillBatch batch(encoded);
  const TopGuesses top = predict(job, batch);
  std::vector<FilledText> filled;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    FilledText& text = filled.emplace_back(FilledText{.text = texts[i], .masks = {}});
    for (std::size_t m = 0; m < encoded[i].mask_positions.size(); ++m) {
      auto& guesses = text.masks.emplace_back();
      const std::size_t row = i * batch.shape.max_predictions + m;
      for (std::int64_t k = 0; k < job.top; ++k)
        guesses.push_back({tokenizer.vocabulary().token(top.ids[row * job.top + k]),
                           top.probabilities[row * job.top + k]});
    }
  }
  return filled;
}

}  // namespace smelt
