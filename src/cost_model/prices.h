// What chips cost, by region and way of renting, with where each figure is from.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace smelt {

struct Price {
  std::string generation, region;  // of a GPU its name; region "any" where clouds differ more
  std::optional<double> on_demand, spot, committed;  // US dollars for a chip and hour
  std::string source;
  std::string date;  // when the source said so: "2025-02"
};

class Prices {
 public:
  // Those that smelt was built with.
  Prices();
  // Theirs, before those of smelt: a YAML list of maps with generation, region, on_demand, spot,
  // committed, source, date. UsageError for a file that is none.
  explicit Prices(const std::string& path);

  // UsageError for a region of which no price is known.
  void check_region(std::string_view region) const;
  // The first for the generation and, where one is named, the region, or else
  // any; nullptr where there is none.
  const Price* find(std::string_view generation, std::string_view region = {}) const;
  const std::vector<Price>& all() const { return prices_; }

 private:
  std::vector<Price> prices_;
};

// Whole months from the price's date to `now` ("2026-11"); UsageError for what is no date.
int age_in_months(const Price& price, std::string_view now);
// Prices older than this are marked, as they may be wrong by now.
inline constexpr int kOldPriceMonths = 6;
// "7 months old: check it" if the price is older than kOldPriceMonths at `now`; else "".
std::string old_price_words(const Price& price, std::string_view now);
// "2026-11", by this machine's clock.
std::string this_month();

}  // namespace smelt
