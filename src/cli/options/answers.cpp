#include "cli/options/answers.h"

#include <unistd.h>

#include <algorithm>
#include <iomanip>
#include <iostream>

#include "base/log.h"
#include "base/number_format.h"
#include "cli/options/number_check.h"
#include "text/readers/unicode.h"

namespace smelt::cli {
namespace {

// Returns the piece between directional isolates if the output is a terminal. Otherwise the
// terminal may swap a right-to-left piece with the number after it.
std::string isolated(const std::string& piece) {
  static const bool is_terminal = ::isatty(STDOUT_FILENO) == 1;
  return is_terminal && !text::is_ascii(piece) ? "\u2068" + piece + "\u2069" : piece;
}

void print_guesses(const execution::FilledText& text) {
  std::cout << text.text << "\n";
  for (const auto& guesses : text.masks) {
    std::cout << "   ";
    for (const execution::MaskGuess& guess : guesses)
      std::cout << " " << isolated(guess.token) << " " << std::fixed << std::setprecision(1)
                << 100 * guess.probability << " %";
    std::cout << "\n";
  }
}

OrderedJson filled_json(const execution::FilledText& text) {
  return {{"text", text::decode_utf8_ignore(text.text, nullptr)}, {"masks", masks_json(text)}};
}

OrderedJson judged_json(const std::string& text, const std::vector<execution::JudgedToken>& tokens,
                        const DetectOptions& flags) {
  std::vector<text::TokenSpan> spans;
  for (const execution::JudgedToken& token : tokens) spans.push_back(token.span);
  spans = text::in_characters(text, std::move(spans));
  OrderedJson out{{"text", text}, {"tokens", OrderedJson::array()}};
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

void print_judged(const std::string& text, const std::vector<execution::JudgedToken>& tokens,
                  const DetectOptions& flags) {
  std::cout << marked_text(text, tokens, flags.threshold, ::isatty(STDOUT_FILENO) == 1) << "\n";
  const auto print = [&](const execution::JudgedToken& token) {
    const auto& [span, probability] = token;
    std::cout << text.substr(span.begin, span.end - span.begin) << " " << std::fixed
              << std::setprecision(1) << 100 * probability << " %\n";
  };
  bool found = false;
  for (const execution::JudgedToken& token : tokens)
    if (token.probability >= flags.threshold) {
      std::cout << "    ";
      print(token);
      found = true;
    }
  if (found) return;
  std::cout << "    no token with a probability of " << rounded(100 * flags.threshold, 1)
            << " % or more; the highest is ";
  print(*std::ranges::max_element(tokens, {}, &execution::JudgedToken::probability));
}

}  // namespace

OrderedJson masks_json(const execution::FilledText& text) {
  OrderedJson out = OrderedJson::array();
  for (const auto& guesses : text.masks) {
    OrderedJson& mask = out.emplace_back(OrderedJson::array());
    for (const execution::MaskGuess& guess : guesses)
      mask.push_back({{"token", guess.token}, {"probability", guess.probability}});
  }
  return out;
}

OrderedJson answers_json(const std::vector<execution::Answer>& answers) {
  OrderedJson out = OrderedJson::array();
  for (const execution::Answer& answer : answers)
    out.push_back({{"text", answer.text},
                   {"score", to_f32_digits(answer.score)},
                   {"tokens", answer.ids.size()}});
  return out;
}

std::shared_ptr<FillOptions> add_fill_options(CLI::App& command) {
  auto options = std::make_shared<FillOptions>();
  add_text_source(command, options->source, "a text with [MASK]; may be given several times");
  command.add_option("--top", options->top, "number of guesses for each [MASK]")
      ->capture_default_str();
  command.add_flag("--json", options->json, "print one JSON object per text, with all guesses");
  return options;
}

void print_filled(const FillOptions& options, const Filler& fill) {
  each_batch(options.source, "fill", [&](const std::vector<std::string>& texts) {
    for (const execution::FilledText& text : fill(texts))
      if (options.json)
        std::cout << filled_json(text).dump() << "\n";
      else
        print_guesses(text);
    std::cout << std::flush;
  });
}

void print_report(const train::GradientReport& report) {
  std::cout << "loss " << report.loss << ", norm of the gradient " << report.norm << "\n";
  for (const train::GradientNorm& gradient : report.of)
    std::cout << gradient.norm << "  " << gradient.parameter << "\n";
  std::cout << report.first_not_finite() << "\n";
}

std::shared_ptr<DetectOptions> add_detect_options(CLI::App& command) {
  auto options = std::make_shared<DetectOptions>();
  add_text_source(command, options->source,
                  "a text to check; [MASK] is read as ordinary text; may be given several times");
  command
      .add_option("--threshold", options->threshold,
                  "mark tokens that are replaced with at least this probability")
      ->check(number_from(0, 1))
      ->capture_default_str();
  command.add_flag("--json", options->json, "print one JSON object per text, with all tokens");
  return options;
}

void print_detected(const DetectOptions& options, const DetectTexts& detect) {
  each_batch(options.source, "detect", [&](std::vector<std::string> texts) {
    for (std::string& text : texts) {
      text = text::decode_utf8_ignore(text, nullptr);
      if (text.find("[MASK]") != std::string::npos)
        log_warning("--text: [MASK] is treated as ordinary text; use `smelt fill` to predict it");
    }
    const auto judged = detect(texts);
    for (std::size_t i = 0; i < judged.size(); ++i)
      if (options.json)
        std::cout << judged_json(texts[i], judged[i], options).dump() << "\n";
      else
        print_judged(texts[i], judged[i], options);
    std::cout << std::flush;
  });
}

std::string marked_text(const std::string& text, const std::vector<execution::JudgedToken>& tokens,
                        double threshold, bool colour) {
  const std::string_view before = colour ? "\033[1;31m" : "[", after = colour ? "\033[0m" : "]";
  std::string out;
  std::size_t at = 0;
  for (std::size_t i = 0; i < tokens.size();) {
    auto [span, probability] = tokens[i];
    // Pieces of one character are marked together.
    for (++i; i < tokens.size() && tokens[i].span.begin < span.end; ++i) {
      span.end = std::max(span.end, tokens[i].span.end);
      probability = std::max(probability, tokens[i].probability);
    }
    if (probability < threshold) continue;
    out.append(text, at, span.begin - at).append(before);
    out.append(text, span.begin, span.end - span.begin).append(after);
    at = span.end;
  }
  return out.append(text, at);
}

}  // namespace smelt::cli
