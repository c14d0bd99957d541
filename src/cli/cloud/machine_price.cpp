#include "cli/cloud/machine_price.h"

#include "base/number_format.h"
#include "base/str.h"
#include "cloud/tpu_api.h"

namespace smelt::cli {

std::optional<MachinePrice> machine_price(const cost_model::Prices& prices,
                                          const cost_model::Accelerator& type,
                                          const std::string& zone, bool spot) {
  const cost_model::Price* price = prices.find(type.generation, cloud::region_of(zone));
  const auto per_chip = price == nullptr ? std::nullopt : spot ? price->spot : price->on_demand;
  if (!per_chip) return std::nullopt;
  return MachinePrice{*per_chip * type.chips, *price};
}

std::string dollars(double value) { return rounded(value, 2); }

std::string price_words(const std::optional<MachinePrice>& price) {
  if (!price) return "price unknown";
  const std::string old = cost_model::old_price_warning(price->price, cost_model::this_month());
  return str("$", dollars(price->an_hour), " an hour (of ", price->price.date,
             old.empty() ? "" : ", ", old, ")");
}

}  // namespace smelt::cli
