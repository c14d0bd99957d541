// The price of a TPU machine, from smelt's price table.
#pragma once

#include <optional>
#include <string>

#include "cost_model/accelerator.h"
#include "cost_model/prices.h"

namespace smelt::cli {

struct MachinePrice {
  double an_hour = 0;       // US dollars for all chips
  cost_model::Price price;  // price of one chip
};

// Returns nullopt if no price is known for the zone's region.
std::optional<MachinePrice> machine_price(const cost_model::Prices& prices,
                                          const cost_model::Accelerator& type,
                                          const std::string& zone, bool spot);
// Returns "$2.40 an hour (of 2019-06, 89 months old: check it)", or "price unknown".
std::string price_words(const std::optional<MachinePrice>& price);

// Formats an amount with two decimals: "2.40".
std::string dollars(double value);

}  // namespace smelt::cli
