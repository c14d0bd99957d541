#include "pipeline/compress_checks.h"

#include <charconv>

#include "base/choice.h"
#include "base/error.h"
#include "pipeline/classify_fields.h"
#include "pipeline/objective_type.h"
#include "pipeline/recipe_checks.h"

namespace smelt {

std::vector<std::int64_t> numbers_in(const Recipe& r, const std::string& field,
                                     const std::string& list) {
  std::vector<std::int64_t> out;
  for (const std::string_view word : split(list, ',')) {
    const std::string_view digits = trim(word);
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size() || value < 1)
      throw UsageError(str(r.origin({field}), ": ", field, ": '", list, "' is no list of numbers"),
                       "write it as 1,8,32");
    out.push_back(value);
  }
  return out;
}

Activations activations_of(const Recipe& r) {
  return choose_of(str(r.origin({"compress.activations"}), ": compress.activations"),
                   r.compress.activations, kActivations);
}

Calibration calibration_of(const Recipe& r) {
  return choose_of(str(r.origin({"compress.calibration"}), ": compress.calibration"),
                   r.compress.calibration, kCalibrations);
}

bool is_t5(const Recipe& r) { return r.type->name == "text_to_text"; }

static void check_cuts(const RecipeChecks& checks, const Recipe& r) {
  const CompressSection& c = r.compress;
  checks.at_least("compress.layers", 0);
  checks.at_least("compress.decoder_layers", 0);
  checks.at_least("compress.examples", 1);
  checks.at_least("compress.rounds", 1);
  for (const char* field : {"compress.ffn", "compress.heads", "compress.macs"}) {
    const double share = r.sections.at("compress").at(std::string(field).substr(9)).get<double>();
    checks.require(share > 0 && share <= 1, {field},
                   str(field, " is ", share, ", which is no share"),
                   "give a number above 0, at most 1");
  }
  checks.within("compress.tune_epochs", 0);
  checks.require(c.tune_epochs == 0 || c.cuts(), {"compress.tune_epochs"},
                 "compress.tune_epochs is of what is cut, and nothing is",
                 "say what stays: compress.ffn, heads, macs or layers");
  checks.require(c.macs == 1 || (c.ffn == 1 && c.heads == 1),
                 {"compress.macs", "compress.ffn", "compress.heads"},
                 "compress.macs with compress.ffn or compress.heads: it says itself how many stay",
                 "leave the others out");
  checks.require(is_t5(r) || c.decoder_layers == 0, {"compress.decoder_layers"},
                 "compress.decoder_layers is of a T5", "leave it out: compress.layers are cut");
}

void check_compress(const Recipe& r) {
  const CompressSection& c = r.compress;
  if (!c.is_on()) return;
  const RecipeChecks checks(r);
  checks.require(!is_remote(r.out), {"out", "compress.layers", "compress.ffn", "compress.int8"},
                 str("compress: ", r.out, " is not on this machine, where its folders are made"),
                 "leave the section out, copy what is exported here and use `smelt compress`");
  checks.require(!holds_nothing_out(r),
                 {"data.validation_share", "compress.int8", "compress.layers", "compress.ffn"},
                 "compress: data.validation_share is 0: no held-out rows to choose and score by",
                 "name rows with data.validation, or raise data.validation_share");
  check_cuts(checks, r);
  const Activations activations = activations_of(r);
  checks.require(activations == Activations::floats || c.int8, {"compress.activations"},
                 "compress.activations is of compress.int8, which is false", "set that to true");
  (void)calibration_of(r);
  checks.require(
      c.calibration == CompressSection().calibration || activations == Activations::by_input_scale,
      {"compress.calibration"},
      str("compress.calibration is of activations: static, and they are ", c.activations),
      "leave it out, or set compress.activations to static");
  checks.require(c.max_drop < 0 || c.int8, {"compress.max_drop"},
                 "compress.max_drop is of compress.int8, which is false", "set that to true");
  checks.require(is_t5(r) || classify_model(r).problem != Problem::answer_spans,
                 {"compress.layers", "compress.ffn", "compress.int8"},
                 "compress: a recipe of answer_spans has no such stage",
                 "use `smelt compress` on what it exports");
  (void)numbers_in(r, "compress.batches", c.batches);
  (void)numbers_in(r, "compress.lengths", c.lengths);
}

}  // namespace smelt
