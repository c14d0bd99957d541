// Prices of chips by region and type of rental, with the source of each price.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace smelt::cost_model {

// The price of a chip in a region.
struct Price {
  std::string generation;  // TPU generation or name of the GPU
  std::string region;      // "any" if the price does not depend on the region
  std::optional<double> on_demand, spot, committed;  // US dollars per chip and hour
  std::string source;
  std::string date;  // date of the source, such as "2025-02"
};

// A list of prices.
class Prices {
 public:
  // The built-in prices.
  Prices();
  // Reads a YAML list of maps with generation, region, on_demand, spot, committed, source and date;
  // these take precedence over the built-in prices. Throws UsageError if the file is invalid.
  explicit Prices(const std::string& path);

  // Throws UsageError if no price for the region is known.
  void check_region(std::string_view region) const;
  // Returns the first price for the generation in the region (in any region if it is empty);
  // nullptr if there is none.
  const Price* find(std::string_view generation, std::string_view region = {}) const;
  const std::vector<Price>& all() const { return prices_; }

 private:
  std::vector<Price> prices_;
};

// Returns the number of months from the price's date to `now` ("2026-11"). Throws UsageError if a
// date is invalid.
int age_in_months(const Price& price, std::string_view now);
// Prices older than this are marked because they may be outdated.
inline constexpr int kOldPriceMonths = 6;
// Returns a warning such as "7 months old: check it" if the price is older than kOldPriceMonths at
// `now`, else "".
std::string old_price_warning(const Price& price, std::string_view now);
// Returns the current month, such as "2026-11".
std::string this_month();

}  // namespace smelt::cost_model
