#include "cost_model/prices.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <regex>

#include "base/error.h"
#include "base/nearest_name.h"
#include "io/filesystem/file.h"

namespace smelt::cost_model {
namespace {

constexpr const char* kHint =
    "give a list of maps: generation, region, on_demand, spot, committed, source, date "
    "(docs/explanation/cost-model.md)";
constexpr const char* kAnyRegion = "any";

std::vector<Price> known_prices() {
  constexpr const char* kBook =
      "Google's price list as quoted by jax-ml/scaling-book (applied-inference)";
  constexpr const char *kTutorial = "a tutorial's bill for a v3-8",
                       *kUnconfirmed = "Google's price list, not confirmed";
  return {{"v2", "us-central1", 4.50 / 4, 1.35 / 4, {}, kUnconfirmed, "2022-06"},
          {"v3", "us-central1", 8.00 / 4, 2.40 / 4, {}, kTutorial, "2019-06"},
          {"v4", "us-central2", 3.22, {}, {}, kUnconfirmed, "2023-06"},
          {"v5e", "us-central1", 1.20, {}, {}, kBook, "2025-02"},
          {"v5p", "us-east5", 4.20, {}, {}, kBook, "2025-02"},
          {"v6e", "us-east5", 2.70, {}, {}, kUnconfirmed, "2025-02"},
          {"h100", kAnyRegion, 3.99, {}, {}, "GPU clouds, 2.69 to 3.99 dollars", "2026-10"},
          {"a100-80gb", kAnyRegion, 1.79, {}, {}, "GPU clouds, 1.39 to 1.79 dollars", "2026-10"}};
}

[[noreturn]] void refuse(const std::string& path, const YAML::Node& at, std::string_view problem) {
  throw UsageError(str(path, ":", at.Mark().line + 1, ": ", problem), kHint);
}

std::string text(const std::string& path, const YAML::Node& entry, const char* field) {
  if (!entry[field]) refuse(path, entry, str(field, " is missing"));
  if (!entry[field].IsScalar()) refuse(path, entry[field], str(field, " is not a string"));
  return entry[field].Scalar();
}

std::optional<double> dollars(const std::string& path, const YAML::Node& entry, const char* field) {
  if (!entry[field] || entry[field].IsNull()) return std::nullopt;
  double value = NAN;
  if (!YAML::convert<double>::decode(entry[field], value) || !(value >= 0 && value < 1e6))
    refuse(path, entry[field],
           str(field, " is '", entry[field].Scalar(), "', expected US dollars per chip and hour"));
  return value;
}

int months(std::string_view where, std::string_view date) {
  std::cmatch found;
  if (!std::regex_match(date.begin(), date.end(), found,
                        std::regex("(20[0-9]{2})-(0[1-9]|1[0-2])(-[0-9]{2})?")))
    throw UsageError(str(where, ": date '", date, "' is invalid"), "write it as 2026-11");
  return std::stoi(found[1]) * 12 + std::stoi(found[2]);
}

Price price_of(const std::string& path, const YAML::Node& entry) {
  if (!entry.IsMap()) refuse(path, entry, "expected a map");
  static const std::vector<std::string> kFields{"generation", "region", "on_demand", "spot",
                                                "committed",  "source", "date"};
  for (const auto& field : entry)
    if (const std::string& name = field.first.Scalar();
        std::ranges::find(kFields, name) == kFields.end())
      refuse(path, field.first, str("unknown field '", name, "': ", did_you_mean(name, kFields)));
  Price out{.generation = text(path, entry, "generation"),
            .region = text(path, entry, "region"),
            .on_demand = dollars(path, entry, "on_demand"),
            .spot = dollars(path, entry, "spot"),
            .committed = dollars(path, entry, "committed"),
            .source = text(path, entry, "source"),
            .date = text(path, entry, "date")};
  (void)months(path, out.date);
  return out;
}

}  // namespace

Prices::Prices() : prices_(known_prices()) {}

Prices::Prices(const std::string& path) {
  YAML::Node file;
  try {
    file = YAML::Load(io::read_file(path, io::kSmallFileBytes));
  } catch (const YAML::Exception& error) {
    throw UsageError(str(path, ": ", error.what()), kHint);
  }
  if (!file.IsSequence()) throw UsageError(str(path, ": expected a list of prices"), kHint);
  for (const YAML::Node& entry : file) prices_.push_back(price_of(path, entry));
  std::ranges::copy(known_prices(), std::back_inserter(prices_));
}

void Prices::check_region(std::string_view region) const {
  std::vector<std::string> known;
  for (const Price& price : prices_) {
    if (price.region == region) return;
    if (std::ranges::find(known, price.region) == known.end()) known.push_back(price.region);
  }
  throw UsageError(str("--region: no price of '", region, "' is known"),
                   did_you_mean(std::string(region), known));
}

const Price* Prices::find(std::string_view generation, std::string_view region) const {
  const auto first = [&](std::string_view where) {
    return std::ranges::find_if(prices_, [&](const Price& price) {
      return price.generation == generation && (where.empty() || price.region == where);
    });
  };
  auto found = first(region);
  if (found == prices_.end()) found = first(kAnyRegion);
  return found == prices_.end() ? nullptr : &*found;
}

int age_in_months(const Price& price, std::string_view now) {
  return months("now", now) - months(price.source, price.date);
}

std::string old_price_warning(const Price& price, std::string_view now) {
  const int age = age_in_months(price, now);
  return age > kOldPriceMonths ? str(age, " months old: check it") : "";
}

std::string this_month() {
  const std::chrono::year_month_day today{
      std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now())};
  const auto month = static_cast<unsigned>(today.month());
  return str(static_cast<int>(today.year()), month < 10 ? "-0" : "-", month);
}

}  // namespace smelt::cost_model
