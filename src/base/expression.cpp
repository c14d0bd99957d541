#include "base/expression.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>

#include "base/error.h"
#include "base/nearest_name.h"

namespace smelt {
namespace {

using Tuple = std::vector<double>;
using Term = std::function<RuleValue(const Sizes& shape)>;

struct Function {
  std::size_t least, most;  // number of arguments
  bool of_tuple;
  std::function<double(const Tuple&)>
      apply;  // gets the arguments, or the elements of a single tuple
};

double added(const Tuple& x) {
  double sum = 0;
  for (const double item : x) sum += item;
  return sum;
}

double multiplied(const Tuple& x) {
  double product = 1;
  for (const double item : x) product *= item;
  return product;
}

const std::map<std::string, Function, std::less<>>& functions() {
  const auto number = [](double (*f)(double)) {
    return Function{1, 1, false, [f](const Tuple& x) { return f(x[0]); }};
  };
  const auto tuple = [](std::function<double(const Tuple&)> f) {
    return Function{1, 1, true, std::move(f)};
  };
  static const std::map<std::string, Function, std::less<>> kFunctions{
      {"sqrt", number(std::sqrt)},
      {"exp", number(std::exp)},
      {"log2", number(std::log2)},
      {"log10", number(std::log10)},
      {"floor", number(std::floor)},
      {"ceil", number(std::ceil)},
      {"abs", number(std::fabs)},
      {"fabs", number(std::fabs)},
      {"log",
       {1, 2, false,
        [](const Tuple& x) {
          return x.size() == 1 ? std::log(x[0]) : std::log(x[0]) / std::log(x[1]);
        }}},
      {"pow", {2, 2, false, [](const Tuple& x) { return std::pow(x[0], x[1]); }}},
      {"sum", tuple(added)},
      {"prod", tuple(multiplied)},
      {"mean", tuple([](const Tuple& x) { return added(x) / static_cast<double>(x.size()); })},
      {"min", tuple([](const Tuple& x) { return x.empty() ? NAN : std::ranges::min(x); })},
      {"max", tuple([](const Tuple& x) { return x.empty() ? NAN : std::ranges::max(x); })}};
  return kFunctions;
}

double binary(std::string_view op, double a, double b) {
  if (op == "+") return a + b;
  if (op == "-") return a - b;
  if (op == "*") return a * b;
  if (op == "/") return a / b;
  if (op == "//") return std::floor(a / b);
  if (op == "%") return a - b * std::floor(a / b);
  return std::pow(a, b);
}

// Checks values and throws UsageError; each message begins with the expression.
struct Demands {
  std::string where;

  double number(const RuleValue& value, std::string_view of) const {
    if (const double* found = std::get_if<double>(&value)) return *found;
    throw UsageError(str(where, ": ", of, " needs a number, found the tuple ", value_text(value)),
                     "use one of its elements, as in SHAPE[0]");
  }
  Tuple tuple(const RuleValue& value, std::string_view of) const {
    if (const Tuple* found = std::get_if<Tuple>(&value)) return *found;
    throw UsageError(str(where, ": ", of, " needs a tuple, found ", value_text(value)),
                     "write one as (1, 2)");
  }
  std::int64_t index(const RuleValue& value) const {
    const double found = number(value, "an index");
    if (found == std::floor(found) && std::fabs(found) < 1e9)
      return static_cast<std::int64_t>(found);
    throw UsageError(str(where, ": the index ", found, " must be an integer"),
                     "use an integer index");
  }
  double finite(double value, std::string_view of) const {
    if (std::isfinite(value)) return value;
    throw UsageError(str(where, ": ", of, " gives ", std::isnan(value) ? "NaN" : "infinity"),
                     "correct the expression");
  }
};

// Recursive-descent parser that turns an expression into nested functions of the shape.
class ExpressionParser {
 public:
  ExpressionParser(std::string_view where, std::string_view text)
      : demands_{str(where, ": '", text, "'")}, text_(text) {}

  Term whole() {
    Term out = list("");
    if (at_ < text_.size()) fail_at("an operator");
    return out;
  }

 private:
  [[noreturn]] void fail_at(const std::string& expected) const {
    const std::string_view rest = text_.substr(std::min(at_, text_.size()));
    throw UsageError(str(demands_.where, ": found ", rest.empty() ? "the end" : str("'", rest, "'"),
                         ", expected ", expected),
                     "an expression is like sqrt(2 / SHAPE[-1]) or (1, SHAPE[-1])");
  }

  void skip_space() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
  bool next_is(std::string_view token) {
    skip_space();
    return text_.substr(at_).starts_with(token);
  }
  bool take(std::string_view token) {
    if (!next_is(token)) return false;
    at_ += token.size();
    return true;
  }
  void need(std::string_view token) {
    if (!take(token)) fail_at(str("'", token, "'"));
  }

  // Parses one term, or a comma-separated tuple, up to `close`.
  Term list(std::string_view close) {
    std::vector<Term> items;
    bool commas = false;
    const auto ended = [&] {
      skip_space();
      return close.empty() ? at_ == text_.size() : next_is(close);
    };
    while (!ended()) {
      items.push_back(sum());
      if (!take(",")) break;
      commas = true;
    }
    if (items.size() == 1 && !commas) return items[0];
    if (items.empty() && close.empty()) fail_at("a value");
    return [demands = demands_, items](const Sizes& shape) {
      Tuple out;
      for (const Term& item : items) out.push_back(demands.number(item(shape), "a tuple"));
      return RuleValue(out);
    };
  }

  Term joined(std::string_view op, Term a, Term b) const {
    return [demands = demands_, op = std::string(op), a = std::move(a),
            b = std::move(b)](const Sizes& shape) -> RuleValue {
      const RuleValue left = a(shape), right = b(shape);
      if (op == "+" && left.index() == 1 && right.index() == 1) {
        Tuple out = std::get<Tuple>(left);
        out.insert(out.end(), std::get<Tuple>(right).begin(), std::get<Tuple>(right).end());
        return out;
      }
      const std::string of = str("'", op, "'");
      return demands.finite(binary(op, demands.number(left, of), demands.number(right, of)), of);
    };
  }

  Term sum() {
    Term out = product();
    for (;;) {
      const std::string_view op = next_is("+") ? "+" : next_is("-") ? "-" : "";
      if (op.empty()) return out;
      at_ += op.size();
      out = joined(op, out, product());
    }
  }

  Term product() {
    Term out = unary();
    for (;;) {
      const std::string_view op = next_is("//")  ? "//"
                                  : next_is("/") ? "/"
                                  : next_is("*") ? "*"
                                  : next_is("%") ? "%"
                                                 : "";
      if (op.empty()) return out;
      at_ += op.size();
      out = joined(op, out, unary());
    }
  }

  Term unary() {
    if (take("-")) return joined("-", [](const Sizes&) { return RuleValue(0.0); }, unary());
    Term base = indexed();
    return take("**") ? joined("**", base, unary()) : base;
  }

  Term indexed() {
    Term out = atom();
    while (take("[")) {
      std::optional<Term> first, last;
      if (!next_is(":")) first = sum();
      if (const bool slice = take(":"); !slice) {
        out = element(out, *first);
      } else {
        if (!next_is("]")) last = sum();
        out = sliced(out, first, last);
      }
      need("]");
    }
    return out;
  }

  Term element(Term of, Term index) const {
    return [demands = demands_, of = std::move(of), index = std::move(index)](const Sizes& shape) {
      const Tuple tuple = demands.tuple(of(shape), "an index");
      const std::int64_t at = demands.index(index(shape)), size = std::ssize(tuple);
      if (at < -size || at >= size)
        throw UsageError(str(demands.where, ": index ", at, " is out of range for ",
                             value_text(tuple), ", which has ", size, " elements"),
                         "add a separate rule for this parameter before this one");
      return RuleValue(tuple[static_cast<std::size_t>(at < 0 ? at + size : at)]);
    };
  }

  // Clamps slice bounds to the tuple, as Python does.
  Term sliced(Term of, const std::optional<Term>& first, const std::optional<Term>& last) const {
    return [demands = demands_, of = std::move(of), first, last](const Sizes& shape) {
      const Tuple tuple = demands.tuple(of(shape), "a slice");
      const std::int64_t size = std::ssize(tuple);
      const auto bound = [&](const std::optional<Term>& term, std::int64_t none) {
        if (!term) return none;
        const std::int64_t at = demands.index((*term)(shape));
        return std::clamp<std::int64_t>(at < 0 ? at + size : at, 0, size);
      };
      const std::int64_t begin = bound(first, 0), end = std::max(bound(last, size), begin);
      return RuleValue(Tuple(tuple.begin() + begin, tuple.begin() + end));
    };
  }

  Term atom() {
    if (take("(")) {
      Term out = list(")");
      need(")");
      return out;
    }
    skip_space();
    const char c = at_ < text_.size() ? text_[at_] : '\0';
    if (std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '.') return number();
    if (std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_') return named();
    fail_at("a value");
  }

  Term number() {
    double value = 0;
    const char* begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (error != std::errc()) fail_at("a number");
    at_ += static_cast<std::size_t>(end - begin);
    return [value](const Sizes&) { return RuleValue(value); };
  }

  Term named() {
    const std::size_t begin = at_;
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_'))
      ++at_;
    const std::string name(text_.substr(begin, at_ - begin));
    if (take("(")) return call(name);
    if (name != "SHAPE")
      throw UsageError(str(demands_.where, ": unknown name '", name, "'"),
                       did_you_mean(name, std::vector<std::string>{"SHAPE"}));
    return [](const Sizes& shape) { return RuleValue(Tuple(shape.begin(), shape.end())); };
  }

  Term call(const std::string& name) {
    const auto found = functions().find(name);
    if (found == functions().end()) {
      std::vector<std::string> known;
      for (const auto& [of, function] : functions()) known.push_back(of);
      throw UsageError(str(demands_.where, ": unknown function '", name, "'"),
                       did_you_mean(name, known));
    }
    const Function& function = found->second;
    std::vector<Term> arguments;
    while (!next_is(")")) {
      arguments.push_back(sum());
      if (!take(",")) break;
    }
    need(")");
    if (arguments.size() < function.least || arguments.size() > function.most)
      throw UsageError(
          str(demands_.where, ": ", name, " has ", arguments.size(), " arguments, expected ",
              function.most),
          function.of_tuple ? "give it a tuple, as in prod(SHAPE)" : "correct the call");
    return [demands = demands_, name, &function, arguments](const Sizes& shape) {
      Tuple values;
      if (function.of_tuple) values = demands.tuple(arguments[0](shape), name);
      if (!function.of_tuple)
        for (const Term& argument : arguments)
          values.push_back(demands.number(argument(shape), name));
      return RuleValue(demands.finite(function.apply(values), name));
    };
  }

  Demands demands_;
  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

std::string value_text(const RuleValue& value) {
  if (const double* number = std::get_if<double>(&value)) return str(*number);
  const Tuple& tuple = std::get<Tuple>(value);
  return str("(", join(tuple, ", "), tuple.size() == 1 ? ",)" : ")");
}

Expression::Expression(std::string_view where, std::string_view text)
    : term_(ExpressionParser(where, text).whole()) {}

}  // namespace smelt
