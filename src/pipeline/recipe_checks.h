// Checks of a recipe's values when it is loaded, before any work. A message begins with who set the
// value: the recipe's file, or --set.
#pragma once

#include <functional>
#include <initializer_list>
#include <limits>
#include <string>
#include <vector>

#include "pipeline/recipe.h"

namespace smelt {

// Fields are named by their paths: "train.steps". Each throws UsageError for the first fault.
class RecipeChecks {
 public:
  explicit RecipeChecks(const Recipe& recipe) : recipe_(recipe) {}

  void require(bool fine, std::initializer_list<std::string> fields, const std::string& what,
               const std::string& hint) const;
  void at_least(const std::string& field, std::int64_t least) const;
  // A finite number in [low, high], or with Ends::without in (low, high).
  enum class Ends { with, without };
  void within(const std::string& field, double low,
              double high = std::numeric_limits<double>::infinity(), Ends ends = Ends::with) const;
  void one_of(const std::string& field, const std::vector<std::string>& known) const;
  // `steps` is not set by --set alone while `counted`, which replaces it, is above 0.
  void is_not_replaced(const std::string& steps, const std::string& counted) const;
  // What training itself would refuse, later.
  void accepts(std::initializer_list<std::string> fields, const std::function<void()>& check) const;
  // data.seq_length is at most the model's number of positions.
  void fits_positions(std::int64_t seq_length, std::int64_t positions) const;
  // The number of the field's rows can be shared by train.devices, each taking its own in `parts`.
  void divides_over_devices(const std::string& field, std::int64_t parts = 1) const;

 private:
  const Json& value(const std::string& field) const;

  const Recipe& recipe_;
};

// Whether the vocabulary, made or given, is kept as a SentencePiece model. Encoders (BERT, ELECTRA)
// have a tokenizer.json instead.
bool is_sentencepiece(const Recipe& recipe);

// Whether rows are all trained on: no data.validation, and data.validation_share is 0.
bool holds_nothing_out(const Recipe& recipe);

// data.validation_share, from 0 to less than 1.
void check_validation_share(const Recipe& recipe);

// Of the sections that every recipe has.
void check_sections(const Recipe& recipe);

}  // namespace smelt
