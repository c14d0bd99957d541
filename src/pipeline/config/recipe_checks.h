// Checks of a recipe's values when it is loaded, before any work. Messages begin with the source of
// the value: the recipe's file, or --set.
#pragma once

#include <functional>
#include <initializer_list>
#include <limits>
#include <string>
#include <vector>

#include "pipeline/config/recipe.h"

namespace smelt::pipeline {

// Checks of fields, which are named by their paths: "train.steps". Each check throws UsageError for
// the first invalid value.
class RecipeChecks {
 public:
  explicit RecipeChecks(const Recipe& recipe) : recipe_(recipe) {}

  void require(bool fine, std::initializer_list<std::string> fields, const std::string& what,
               const std::string& hint) const;
  void at_least(const std::string& field, std::int64_t least) const;
  // Checks that the value is finite and in [low, high], or in (low, high) with Ends::without.
  enum class Ends { with, without };
  void within(const std::string& field, double low,
              double high = std::numeric_limits<double>::infinity(), Ends ends = Ends::with) const;
  void one_of(const std::string& field, const std::vector<std::string>& known) const;
  // Throws UsageError if `steps` is set with --set although `counted` (such as train.epochs) is not
  // 0 and therefore replaces it.
  void is_not_replaced(const std::string& steps, const std::string& counted) const;
  // Calls `check`. If it throws, adds the source of the fields to its message.
  void accepts(std::initializer_list<std::string> fields, const std::function<void()>& check) const;
  // Checks that data.seq_length is at most the model's number of positions.
  void fits_positions(std::int64_t seq_length, std::int64_t positions) const;
  // Checks that the batch size in `field` is divisible by the number of devices that share a batch
  // (train.devices, or the data and fsdp axes of the mesh), and that the number of rows of each
  // device is divisible by `parts`.
  void divides_over_devices(const std::string& field, std::int64_t parts = 1) const;

 private:
  const Json& value(const std::string& field) const;

  const Recipe& recipe_;
};

// Returns whether the vocabulary is stored as a SentencePiece model. Encoders (BERT, ELECTRA) have
// a tokenizer.json instead.
bool is_sentencepiece(const Recipe& recipe);

// Returns whether all rows are used for training: data.validation is empty and
// data.validation_share is 0.
bool has_no_validation(const Recipe& recipe);

// Checks that data.validation_share is at least 0 and below 1.
void check_validation_share(const Recipe& recipe);

// Checks the sections that every recipe has.
void check_sections(const Recipe& recipe);

}  // namespace smelt::pipeline
