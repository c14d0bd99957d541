#include "examples/example_order.h"

#include <array>

#include "base/choice.h"
#include "examples/require.h"

namespace smelt {
namespace {

const std::array<std::string_view, 2> kOrders{"shuffled", "original"};

}  // namespace

ExampleOrder parse_example_order(std::string_view name) {
  return choose<ExampleOrder>(
      "training data: order", name,
      {{kOrders[0], ExampleOrder::shuffled}, {kOrders[1], ExampleOrder::original}});
}

std::string_view name(ExampleOrder order) { return kOrders.at(static_cast<std::size_t>(order)); }

void check_plain_text(const DocumentOptions& text) {
  require(text.format.name == "auto" && text.sentences == "lines" && text.dedup == "none" &&
              text.max_lines == 0,
          "order original reads text files as they are, one sentence a line",
          "take the shuffled order");
}

}  // namespace smelt
