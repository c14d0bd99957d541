#include "cli/machine_price.h"

#include <iomanip>
#include <sstream>

#include "base/str.h"

namespace smelt {

std::optional<MachinePrice> machine_price(const Prices& prices, const Accelerator& type,
                                          const std::string& zone, bool spot) {
  const std::string region = zone.substr(0, zone.rfind('-'));  // of "us-central1-b"
  const Price* price = prices.find(type.generation, region);
  const auto per_chip = price == nullptr ? std::nullopt : spot ? price->spot : price->on_demand;
  if (!per_chip) return std::nullopt;
  return MachinePrice{*per_chip * type.chips, price->date};
}

std::string dollars(double value) {
  std::ostringstream out;
  out << std::fixed << std::setprecision(2) << value;
  return out.str();
}

std::string price_words(const std::optional<MachinePrice>& price) {
  if (!price) return "price not known";
  return str("$", dollars(price->an_hour), " an hour (of ", price->date, ")");
}

}  // namespace smelt
