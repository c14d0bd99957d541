#include "cli/compat/bert_log.h"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <map>

#include "base/str.h"

namespace smelt::cli {

std::string numpy_text(float value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  // numpy prints an exponent from 1e16 on and below 1e-4.
  const float size = std::abs(value);
  const bool exponent = size != 0 && (size >= 1e16F || size < 1e-4F);
  char text[64];
  const auto [end, error] =
      std::to_chars(text, text + sizeof text, value,
                    exponent ? std::chars_format::scientific : std::chars_format::fixed);
  std::string out(text, end);
  if (!exponent && out.find('.') == std::string::npos) out += ".0";
  return out;
}

std::string python_shape(const compiler::Dims& dims) {
  return str("(", join(dims, ", "), dims.size() == 1 ? ",)" : ")");
}

std::string bert_log_line(const train::LogPoint& at, std::int64_t batch_size) {
  const double rate = static_cast<double>(at.step - at.first_step) / at.seconds;
  char text[160];
  std::snprintf(text, sizeof text,
                "global_step/sec: %g\nexamples/sec: %g\nloss = %.8g, step = %lld (%.3f sec)", rate,
                rate * static_cast<double>(batch_size), at.loss, static_cast<long long>(at.step),
                at.seconds);
  return text;
}

std::vector<std::string> bert_results(const execution::Evaluation& e) {
  std::map<std::string, std::string> lines{{"global_step", std::to_string(e.global_step)},
                                           {"loss", numpy_text(static_cast<float>(e.loss))}};
  for (const model::MeasuredValue& m : e.measures)
    if (m.name != execution::kBitsPerCharacter)  // the original does not print it
      lines[m.name] = numpy_text(static_cast<float>(m.value));
  std::vector<std::string> out;
  for (const auto& [key, value] : lines) out.push_back(str(key, " = ", value));
  return out;
}

}  // namespace smelt::cli
