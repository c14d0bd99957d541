#include "cli/cmd_detect.h"

#include <unistd.h>

#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>

#include "cli/pipeline.h"
#include "cli/recipe_option.h"
#include "text/unicode.h"

namespace smelt {
namespace {

struct DetectFlags {
  std::vector<std::string> texts;
  double threshold = 0.5;
  bool json = false;
};

nlohmann::ordered_json judged_json(const std::string& text, const std::vector<JudgedToken>& tokens,
                                   const DetectFlags& flags) {
  std::vector<TokenSpan> spans;
  for (const JudgedToken& token : tokens) spans.push_back(token.span);
  spans = in_characters(text, std::move(spans));
  nlohmann::ordered_json out{{"text", text}, {"tokens", nlohmann::ordered_json::array()}};
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const auto [id, begin, end] = tokens[i].span;
    out["tokens"].push_back({{"text", text.substr(begin, end - begin)},
                             {"id", id},
                             {"offsets", {spans[i].begin, spans[i].end}},
                             {"probability", tokens[i].probability},
                             {"replaced", tokens[i].probability >= flags.threshold}});
  }
  return out;
}

void print_judged(const std::string& text, const std::vector<JudgedToken>& tokens,
                  const DetectFlags& flags) {
  std::cout << marked_text(text, tokens, flags.threshold, ::isatty(STDOUT_FILENO) == 1) << "\n";
  for (const auto& [span, probability] : tokens)
    if (probability >= flags.threshold)
      std::cout << "    " << text.substr(span.begin, span.end - span.begin) << " " << std::fixed
                << std::setprecision(1) << 100 * probability << " %\n";
}

void detect(const Recipe& recipe, DetectFlags flags) {
  for (std::string& text : flags.texts) text = decode_utf8_ignore(text, nullptr);
  const auto judged = detect_with_model(recipe, flags.texts);
  for (std::size_t i = 0; i < judged.size(); ++i)
    if (flags.json)
      std::cout << judged_json(flags.texts[i], judged[i], flags).dump() << "\n";
    else
      print_judged(flags.texts[i], judged[i], flags);
}

}  // namespace

std::string marked_text(const std::string& text, const std::vector<JudgedToken>& tokens,
                        double threshold, bool colour) {
  const std::string_view before = colour ? "\033[1;31m" : "[", after = colour ? "\033[0m" : "]";
  std::string out;
  std::size_t at = 0;
  for (const auto& [span, probability] : tokens) {
    if (probability < threshold) continue;
    out.append(text, at, span.begin - at).append(before);
    out.append(text, span.begin, span.end - span.begin).append(after);
    at = span.end;
  }
  return out.append(text, at);
}

void add_detect_command(CLI::App& app) {
  auto* command =
      app.add_subcommand("detect", "which tokens a recipe's discriminator holds for replaced");
  const auto recipe = add_recipe_options(*command);
  auto flags = std::make_shared<DetectFlags>();
  command->add_option("--text", flags->texts, "a text; may be given several times")->required();
  command->add_option("--threshold", flags->threshold, "probability from which a token is marked")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  command->add_flag("--json", flags->json, "one JSON object a text, with all tokens");
  command->callback([recipe, flags] { detect(recipe->load(), *flags); });
}

}  // namespace smelt
