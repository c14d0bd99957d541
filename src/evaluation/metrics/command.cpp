#include "evaluation/metrics/command.h"

#include <numeric>

#include "base/error.h"
#include "base/plural.h"
#include "base/run_program.h"

namespace smelt::evaluation {
namespace {

[[noreturn]] void throw_bad(const std::string& command, const std::string& what) {
  throw UsageError(
      str("--metric-command: '", shortened(command, 80), "' ", what),
      "the command must read JSON lines with prediction and reference, and print a number, "
      "a list with a number for each line, or an object of these");
}

// Runs the command for these examples and returns the values it prints, by name.
OrderedJson run_command(const std::string& command, const JsonValues& predicted,
                        const JsonValues& wanted, std::span<const std::size_t> examples) {
  std::string input;
  for (const std::size_t i : examples)
    input += OrderedJson{{"prediction", predicted[i]}, {"reference", wanted[i]}}.dump(
                 -1, ' ', false, JsonInvalidUtf8::replace) +
             "\n";
  const ShellOutput out = run_shell(command, input);
  if (out.status != 0) throw_bad(command, str("ended with status ", out.status));
  const OrderedJson printed = OrderedJson::parse_or_discard(out.text);
  if (printed.is_discarded())
    throw_bad(command, str("must print JSON, but printed '", shortened(trim(out.text), 80), "'"));
  return printed.is_object() ? printed : OrderedJson{{"command", printed}};
}

// Returns the mean of the chosen examples' values.
double mean_of(const std::vector<double>& values, std::span<const std::size_t> examples) {
  double sum = 0;
  for (const std::size_t i : examples) sum += values[i];
  return sum / static_cast<double>(examples.size());
}

double number_in(const std::string& command, const std::string& name, const Json& value) {
  if (!value.is_number())
    throw_bad(command, str("printed ", shortened(value.dump(), 40), " for '", name,
                           "', which must be a number"));
  return value.get<double>();
}

}  // namespace

std::vector<CommandMetric> command_metrics(const std::string& command, const JsonValues& predicted,
                                           const JsonValues& wanted) {
  expect_pairs(predicted, wanted);
  std::vector<std::size_t> all(wanted.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  std::vector<CommandMetric> out;
  const OrderedJson printed = run_command(command, predicted, wanted, all);
  for (const auto& [key, value] : printed.items()) {
    const std::string name = key;
    if (!value.is_array()) {
      number_in(command, name, value);
      out.push_back({name, [=](std::span<const std::size_t> examples) {
                       return number_in(command, name,
                                        run_command(command, predicted, wanted, examples).at(name));
                     }});
      continue;
    }
    if (value.size() != wanted.size())
      throw_bad(command, str("printed ", counted(value.size(), "number"), " for '", name,
                             "', but there are ", counted(wanted.size(), "example")));
    std::vector<double> values;
    for (const Json one : value) values.push_back(number_in(command, name, one));
    out.push_back(
        {name,
         [values](std::span<const std::size_t> examples) { return mean_of(values, examples); },
         true});
  }
  return out;
}

}  // namespace smelt::evaluation
