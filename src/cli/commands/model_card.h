// The model card (README.md) of a model that is published on the Hugging Face Hub.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace smelt::cli {

// The content of a card, from the files of a model and of the run that made it.
struct CardFacts {
  std::string repo;        // ORG/NAME
  std::string task;        // pipeline_tag; "" if the model has no such task
  std::string type;        // model_type, such as bert
  std::string license;     // "" if the user gave none
  std::string language;    // "" if the user gave none
  std::string base_model;  // ORG/NAME of train.init_from on the Hub; "" if it is not there
  std::vector<std::string> datasets = {};                    // ORG/NAME
  std::string evaluated_on = {};                             // name of the validation data
  std::vector<std::pair<std::string, double>> metrics = {};  // of the last evaluation
};

// Reads the facts from the Hugging Face folder `model` and from recipe.yaml and
// model/eval_results.json in the run folder `run` ("": without a run).
CardFacts card_facts(const std::string& model, const std::string& run, const std::string& repo);

// Returns the card. If `readme` is not empty, returns it with the metadata that it lacks; its own
// metadata and text stay.
std::string model_card(const CardFacts& facts, const std::string& readme);

}  // namespace smelt::cli
