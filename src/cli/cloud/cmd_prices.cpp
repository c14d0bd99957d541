#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "base/json.h"
#include "cli/cloud/cloud_commands.h"
#include "cli/cloud/machine_price.h"
#include "cli/options/table.h"

namespace smelt::cli {
namespace {

struct PriceOptions {
  std::string type, region, file;
  bool json = false;
};

OrderedJson times(const std::optional<double>& price, int chips) {
  return price ? OrderedJson(*price * chips) : OrderedJson();
}

std::string cell(const std::optional<double>& price, int chips) {
  return price ? dollars(*price * chips) : "-";
}

// Prints the price of one chip of each generation, or of machines of the given types.
void show(const PriceOptions& o) {
  const cost_model::Prices prices =
      o.file.empty() ? cost_model::Prices() : cost_model::Prices(o.file);
  if (!o.region.empty()) prices.check_region(o.region);
  std::vector<cost_model::Accelerator> types;
  if (!o.type.empty()) types = cost_model::find_accelerators("--type", o.type);
  OrderedJson all = OrderedJson::array();
  std::vector<std::vector<std::string>> rows{
      {o.type.empty() ? "a chip" : "machine", "region", "$/hour", "spot", "of", "source"}};
  const auto add = [&](const std::string& name, const cost_model::Price& price, int chips) {
    const std::string old = cost_model::old_price_warning(price, cost_model::this_month());
    rows.push_back({name, price.region, cell(price.on_demand, chips), cell(price.spot, chips),
                    str(price.date, old.empty() ? "" : ", ", old), price.source});
    all.push_back({{"name", name},
                   {"chips", chips},
                   {"region", price.region},
                   {"on_demand", times(price.on_demand, chips)},
                   {"spot", times(price.spot, chips)},
                   {"date", price.date},
                   {"source", price.source}});
  };
  for (const cost_model::Price& price : prices.all()) {
    if (!o.region.empty() && price.region != o.region) continue;
    if (types.empty()) add(price.generation, price, 1);
    for (const cost_model::Accelerator& type : types)
      if (type.generation == price.generation) add(type.name, price, type.chips);
  }
  if (o.json)
    std::cout << OrderedJson{{"prices", all}}.dump() << "\n";
  else
    print_table(rows);
}

}  // namespace

void add_prices_command(CLI::App& cloud) {
  auto* command =
      cloud.add_subcommand("prices", "show the price of TPUs per hour, with source and date");
  auto o = std::make_shared<PriceOptions>();
  command->add_option("--type", o->type,
                      "show prices of machines of these types, such as v3-8,v2-32, or all");
  command->add_option("--region", o->region, "only prices in this region, e.g. us-central1");
  command->add_option("--prices", o->file,
                      "a YAML file of prices that override smelt's own (docs/guides/plan.md)");
  command->add_flag("--json", o->json, "print one JSON object instead of lines");
  command->callback([o] { show(*o); });
}

}  // namespace smelt::cli
