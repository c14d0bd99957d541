// What a trained model can be asked, whether a recipe or its folder names it. To add a question:
// its job here and in kQuestionWords, and a line in each type of model that answers it.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "checkpoint/interop/stored_model.h"
#include "execution/inference/classify.h"
#include "execution/inference/detect.h"
#include "execution/inference/fill_mask.h"
#include "execution/inference/generate.h"
#include "pipeline/text_score.h"

namespace smelt {

struct ObjectiveType;
struct Recipe;

// A run's model by its recipe, or one in a folder; either lives as long as it is asked.
using ModelAtHand = std::variant<const Recipe*, const StoredModel*>;

// Makes a question's job for a model at hand: what it takes, without device and weights. UsageError
// where the model lacks the part that answers.
template <class Job>
using QuestionFor = std::function<Job(const ModelAtHand&)>;
using Question =
    std::variant<QuestionFor<FillMaskJob>, QuestionFor<DetectJob>, QuestionFor<ScoreTextJob>,
                 QuestionFor<GenerateJob>, QuestionFor<ClassifyJob>>;

// How messages say that a type of model cannot be asked.
struct QuestionWords {
  std::string_view command, lacks, hint;
};
template <class Job>
inline constexpr QuestionWords kQuestionWords;
template <>
inline constexpr QuestionWords kQuestionWords<FillMaskJob>{
    "fill", "fills no masks", "take a BERT or an ELECTRA; `smelt generate` asks a T5"};
template <>
inline constexpr QuestionWords kQuestionWords<DetectJob>{"detect", "has no discriminator",
                                                         "take an ELECTRA"};

template <>
inline constexpr QuestionWords kQuestionWords<GenerateJob>{"generate", "answers no texts",
                                                           "take a T5"};

template <>
inline constexpr QuestionWords kQuestionWords<ClassifyJob>{
    "predict", "tells no texts apart",
    "take a model that was fine-tuned by a recipe of model.type classify"};

template <>
inline constexpr QuestionWords kQuestionWords<ScoreTextJob>{
    "eval", "is scored on no text", "take a BERT or an ELECTRA, or evaluate its run"};

template <class Job>
bool answers(const std::vector<Question>& questions) {
  for (const Question& question : questions)
    if (std::holds_alternative<QuestionFor<Job>>(question)) return true;
  return false;
}

// UsageError where `type` (its name) has no such question.
[[noreturn]] void throw_no_answer(const QuestionWords& words, const std::string& type);

template <class Job>
Job job_of(const std::vector<Question>& questions, const std::string& type,
           const ModelAtHand& model) {
  for (const Question& question : questions)
    if (const auto* found = std::get_if<QuestionFor<Job>>(&question)) return (*found)(model);
  throw_no_answer(kQuestionWords<Job>, type);
}

// Of a model in a folder alone: a recipe's is asked by its folder, too.
template <class OfStored>
auto of_stored_model(OfStored of_stored) {
  return [of_stored](const ModelAtHand& model) {
    return of_stored(*std::get<const StoredModel*>(model));
  };
}

// `of_recipe` or `of_stored`, as the model at hand is.
template <class OfRecipe, class OfStored>
auto of_model(OfRecipe of_recipe, OfStored of_stored) {
  return [of_recipe, of_stored](const ModelAtHand& model) {
    if (const auto* recipe = std::get_if<const Recipe*>(&model)) return of_recipe(**recipe);
    return of_stored(*std::get<const StoredModel*>(model));
  };
}

}  // namespace smelt
