// What a TPU machine costs, by the prices that smelt knows.
#pragma once

#include <optional>
#include <string>

#include "cost_model/accelerator.h"
#include "cost_model/prices.h"

namespace smelt {

struct MachinePrice {
  double an_hour = 0;  // US dollars, of all its chips
  Price price;         // of a chip
};

// Nothing where no price is known for the zone's region.
std::optional<MachinePrice> machine_price(const Prices& prices, const Accelerator& type,
                                          const std::string& zone, bool spot);
// "$2.40 an hour (of 2019-06, 89 months old: check it)", or that it is not known.
std::string price_words(const std::optional<MachinePrice>& price);

// "2.40"
std::string dollars(double value);

}  // namespace smelt
