#include "base/json.h"

#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>
#include <ostream>

#include "base/str.h"

namespace smelt {
namespace {

// Maximum nesting. Copying and destroying a value recurses once per level, so deeper values could
// overflow the stack.
constexpr std::size_t kMaxDepth = 512;

const char* name_of(JsonType type) {
  switch (type) {
    case JsonType::null:
      return "null";
    case JsonType::boolean:
      return "boolean";
    case JsonType::string:
      return "string";
    case JsonType::array:
      return "array";
    case JsonType::object:
      return "object";
    case JsonType::discarded:
      return "discarded";
    default:
      return "number";
  }
}

// Returns the sort order of a type among values of different types.
int rank(JsonType type) {
  switch (type) {
    case JsonType::null:
      return 0;
    case JsonType::boolean:
      return 1;
    case JsonType::object:
      return 3;
    case JsonType::array:
      return 4;
    case JsonType::string:
      return 5;
    case JsonType::discarded:
      return 6;
    default:
      return 2;  // numbers
  }
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t i = 0; (i = text.find(from, i)) != std::string::npos; i += to.size())
    text.replace(i, from.size(), to);
  return text;
}

// Escape and unescape a key of a JSON pointer (RFC 6901, section 3).
std::string escaped(std::string_view key) {
  return replaced(replaced(std::string(key), "~", "~0"), "/", "~1");
}
std::string unescaped(std::string_view key) {
  return replaced(replaced(std::string(key), "~1", "/"), "~0", "~");
}

}  // namespace

// The members of an object, in the order of their keys or of insertion.
template <bool kSorted>
struct BasicJson<kSorted>::Object {
  using Sorted = std::map<std::string, BasicJson, std::less<>>;
  using Inserted = std::vector<std::pair<std::string, BasicJson>>;
  using Members = std::conditional_t<kSorted, Sorted, Inserted>;
  using Position = Members::iterator;

  Members members;

  Position find(std::string_view key) {
    if constexpr (kSorted)
      return members.find(key);
    else
      return std::ranges::find(
          members, key, [](const auto& member) -> const std::string& { return member.first; });
  }
  BasicJson& at(std::string_view key) {  // adds a null member if the key is missing
    if (const auto found = find(key); found != members.end()) return found->second;
    if constexpr (kSorted)
      return members.emplace(std::string(key), BasicJson()).first->second;
    else
      return members.emplace_back(std::string(key), BasicJson()).second;
  }

  // Iterators of both member types are stored as one pointer.
  static void* packed(Position at) {
    static_assert(sizeof(Position) == sizeof(void*));
    return std::bit_cast<void*>(at);
  }
  static Position unpacked(void* at) { return std::bit_cast<Position>(at); }
};

// SAX handler that builds a value from nlohmann's parse events.
template <bool kSorted>
class BasicJson<kSorted>::Builder : public nlohmann::json_sax<nlohmann::json> {
 public:
  Builder(BasicJson& root, const OnRepeatedKey& repeated) : root_(root), repeated_(repeated) {}

  // Returns whether parsing failed because a number does not fit in a double.
  bool out_of_range() const { return out_of_range_; }
  bool too_deep() const { return too_deep_; }
  std::size_t byte() const { return byte_; }
  const std::string& error() const { return error_; }

  bool null() override { return add(BasicJson()); }
  bool boolean(bool value) override { return add(BasicJson(value)); }
  bool number_integer(std::int64_t value) override { return add(BasicJson(value)); }
  bool number_unsigned(std::uint64_t value) override { return add(BasicJson(value)); }
  bool number_float(double value, const std::string&) override { return add(BasicJson(value)); }
  bool string(std::string& value) override { return add(BasicJson(std::move(value))); }
  bool binary(nlohmann::json::binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(JsonType::object); }
  bool start_array(std::size_t) override { return open(JsonType::array); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(std::string& key) override {
    const BasicJson& object = *open_.back();
    if (repeated_ && object.contains(key)) repeated_(static_cast<int>(open_.size()), key);
    key_ = std::move(key);
    return true;
  }
  bool parse_error(std::size_t byte, const std::string&,
                   const nlohmann::detail::exception& error) override {
    byte_ = byte;
    error_ = error.what();
    out_of_range_ = dynamic_cast<const nlohmann::json::out_of_range*>(&error) != nullptr;
    return false;
  }

 private:
  BasicJson* put(BasicJson value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    BasicJson& to = *open_.back();
    if (to.is_array()) return &to.value_.array->emplace_back(std::move(value));
    BasicJson& member = to.value_.object->at(key_);
    member = std::move(value);
    return &member;
  }
  bool add(BasicJson value) {
    put(std::move(value));
    return true;
  }
  bool open(JsonType type) {
    too_deep_ = open_.size() >= kMaxDepth;
    if (too_deep_) return false;
    open_.push_back(put(BasicJson(type)));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  BasicJson& root_;
  const OnRepeatedKey& repeated_;
  std::vector<BasicJson*> open_;
  std::string key_, error_;
  std::size_t byte_ = 0;
  bool out_of_range_ = false, too_deep_ = false;
};

template <bool kSorted>
class BasicJson<kSorted>::Printer {
 public:
  Printer(int indent, char fill, bool ascii_only, JsonInvalidUtf8 invalid)
      : indent_(indent), fill_(fill), ascii_only_(ascii_only), invalid_(invalid) {}

  void print(const BasicJson& json, std::size_t depth = 0) {
    switch (json.type_) {
      case JsonType::null:
        out += "null";
        break;
      case JsonType::boolean:
        out += json.value_.boolean ? "true" : "false";
        break;
      case JsonType::signed_integer:
        out += std::to_string(json.value_.integer);
        break;
      case JsonType::unsigned_integer:
        out += std::to_string(static_cast<std::uint64_t>(json.value_.integer));
        break;
      case JsonType::real:
        out += nlohmann::json(json.value_.real).dump();
        break;
      case JsonType::string:
        print(*json.value_.string);
        break;
      case JsonType::array:
        print_array(json, depth + 1);
        break;
      case JsonType::object:
        print_object(json, depth + 1);
        break;
      case JsonType::discarded:
        out += "<discarded>";
        break;
    }
  }

  std::string out;

 private:
  void print(const std::string& text) {
    const auto handler = invalid_ == JsonInvalidUtf8::replace
                             ? nlohmann::json::error_handler_t::replace
                             : nlohmann::json::error_handler_t::strict;
    try {
      out += nlohmann::json(text).dump(-1, ' ', ascii_only_, handler);
    } catch (const nlohmann::json::exception& error) {
      throw JsonError(error.what());
    }
  }
  void print_array(const BasicJson& json, std::size_t depth) {
    out += '[';
    bool first = true;
    for (const BasicJson& element : *json.value_.array) {
      separate(first, depth);
      print(element, depth);
    }
    close(first, depth, ']');
  }
  void print_object(const BasicJson& json, std::size_t depth) {
    out += '{';
    bool first = true;
    for (const auto& [key, value] : json.value_.object->members) {
      separate(first, depth);
      print(key);
      out += indent_ >= 0 ? ": " : ":";
      print(value, depth);
    }
    close(first, depth, '}');
  }
  void separate(bool& first, std::size_t depth) {
    if (!std::exchange(first, false)) out += ',';
    new_line(depth);
  }
  void close(bool empty, std::size_t depth, char bracket) {
    if (!empty) new_line(depth - 1);
    out += bracket;
  }
  void new_line(std::size_t depth) {
    if (indent_ < 0) return;
    out += '\n';
    out.append(depth * static_cast<std::size_t>(indent_), fill_);
  }

  int indent_;
  char fill_;
  bool ascii_only_;
  JsonInvalidUtf8 invalid_;
};

template <bool kSorted>
BasicJson<kSorted>::BasicJson(JsonType type) : type_(type) {
  switch (type) {
    case JsonType::string:
      value_.string = new std::string;
      break;
    case JsonType::array:
      value_.array = new Array;
      break;
    case JsonType::object:
      value_.object = new Object;
      break;
    default:
      break;
  }
}

template <bool kSorted>
BasicJson<kSorted>::BasicJson(const std::string& text) : type_(JsonType::string) {
  value_.string = new std::string(text);
}

template <bool kSorted>
BasicJson<kSorted>::BasicJson(std::string&& text) : type_(JsonType::string) {
  value_.string = new std::string(std::move(text));
}

template <bool kSorted>
BasicJson<kSorted> BasicJson<kSorted>::from_text(std::string_view text) {
  return BasicJson(std::string(text));
}

template <bool kSorted>
BasicJson<kSorted>::BasicJson(Array elements) : type_(JsonType::array) {
  value_.array = new Array(std::move(elements));
}

template <bool kSorted>
BasicJson<kSorted>::BasicJson(std::initializer_list<Init> list) {
  const bool is_object = std::ranges::all_of(list, [](const Init& one) {
    const BasicJson& json = one.value();
    return json.is_array() && json.size() == 2 && json.value_.array->front().is_string();
  });
  *this = is_object ? object(list) : array(list);
}

template <bool kSorted>
BasicJson<kSorted> BasicJson<kSorted>::object(std::initializer_list<Init> list) {
  BasicJson out(JsonType::object);
  for (const Init& one : list) {
    BasicJson member = one.take();
    if (!member.is_array() || member.size() != 2 || !member.value_.array->front().is_string())
      throw JsonError("JSON: object(): expected {key, value} pairs whose key is a string");
    out.emplace(member.value_.array->front().string(), std::move(member.value_.array->back()));
  }
  return out;
}

template <bool kSorted>
BasicJson<kSorted> BasicJson<kSorted>::array(std::initializer_list<Init> list) {
  BasicJson out(JsonType::array);
  out.value_.array->reserve(list.size());
  for (const Init& one : list) out.value_.array->push_back(one.take());
  return out;
}

template <bool kSorted>
BasicJson<kSorted>::BasicJson(const BasicJson& other) : type_(other.type_), value_(other.value_) {
  switch (type_) {
    case JsonType::string:
      value_.string = new std::string(*other.value_.string);
      break;
    case JsonType::array:
      value_.array = new Array(*other.value_.array);
      break;
    case JsonType::object:
      value_.object = new Object(*other.value_.object);
      break;
    default:
      break;
  }
}

template <bool kSorted>
BasicJson<kSorted>::BasicJson(const BasicJson<!kSorted>& other) : BasicJson(other.type_) {
  switch (type_) {
    case JsonType::boolean:
      value_.boolean = other.value_.boolean;
      break;
    case JsonType::real:
      value_.real = other.value_.real;
      break;
    case JsonType::string:
      *value_.string = *other.value_.string;
      break;
    case JsonType::array:
      for (const auto& element : *other.value_.array) value_.array->emplace_back(element);
      break;
    case JsonType::object:
      for (const auto& [key, value] : other.value_.object->members)
        value_.object->at(key) = BasicJson(value);
      break;
    default:
      value_.integer = other.value_.integer;
      break;
  }
}

template <bool kSorted>
void BasicJson<kSorted>::destroy() {
  switch (type_) {
    case JsonType::string:
      delete value_.string;
      break;
    case JsonType::array:
      delete value_.array;
      break;
    case JsonType::object:
      delete value_.object;
      break;
    default:
      break;
  }
}

template <bool kSorted>
BasicJson<kSorted> BasicJson<kSorted>::parse(std::string_view text,
                                             const OnRepeatedKey& on_repeated_key) {
  BasicJson out;
  Builder builder(out, on_repeated_key);
  if (nlohmann::json::sax_parse(text, &builder)) return out;
  if (builder.out_of_range()) throw JsonRangeError(builder.error());
  throw JsonParseError(builder.too_deep()
                           ? str("values are nested more than ", kMaxDepth, " levels deep")
                           : builder.error(),
                       builder.byte());
}

template <bool kSorted>
BasicJson<kSorted> BasicJson<kSorted>::parse_or_discard(std::string_view text) {
  BasicJson out;
  const OnRepeatedKey ignored;
  Builder builder(out, ignored);
  if (!nlohmann::json::sax_parse(text, &builder)) return BasicJson(JsonType::discarded);
  return out;
}

template <bool kSorted>
std::string BasicJson<kSorted>::dump(int indent, char indent_char, bool ascii_only,
                                     JsonInvalidUtf8 invalid) const {
  Printer printer(indent, indent_char, ascii_only, invalid);
  printer.print(*this);
  return std::move(printer.out);
}

template <bool kSorted>
void BasicJson<kSorted>::print(std::ostream& out, const BasicJson& json) {
  out << json.dump();
}

template <bool kSorted>
const char* BasicJson<kSorted>::type_name() const {
  return name_of(type_);
}

template <bool kSorted>
void BasicJson<kSorted>::throw_not(const char* wanted) const {
  throw JsonError(str("JSON: expected ", wanted, ", found ", type_name()));
}

template <bool kSorted>
const std::string& BasicJson<kSorted>::string() const {
  if (!is_string()) throw_not("a string");
  return *value_.string;
}

template <bool kSorted>
std::string& BasicJson<kSorted>::string() {
  if (!is_string()) throw_not("a string");
  return *value_.string;
}

template <bool kSorted>
const std::vector<BasicJson<kSorted>>& BasicJson<kSorted>::elements() const {
  if (!is_array()) throw_not("an array");
  return *value_.array;
}

template <bool kSorted>
std::vector<BasicJson<kSorted>>& BasicJson<kSorted>::elements() {
  if (!is_array()) throw_not("an array");
  return *value_.array;
}

template <bool kSorted>
void BasicJson<kSorted>::check_object() const {
  if (!is_object()) throw_not("an object");
}

template <bool kSorted>
bool BasicJson<kSorted>::as_bool() const {
  if (!is_boolean()) throw_not("a boolean");
  return value_.boolean;
}

template <bool kSorted>
std::int64_t BasicJson<kSorted>::as_integer() const {
  if (is_number_integer()) return value_.integer;
  if (type_ != JsonType::real) throw_not("a number");
  return value_.real < 0x1p63 ? static_cast<std::int64_t>(value_.real)
                              : static_cast<std::int64_t>(static_cast<std::uint64_t>(value_.real));
}

template <bool kSorted>
double BasicJson<kSorted>::as_real() const {
  switch (type_) {
    case JsonType::real:
      return value_.real;
    case JsonType::signed_integer:
      return static_cast<double>(value_.integer);
    case JsonType::unsigned_integer:
      return static_cast<double>(static_cast<std::uint64_t>(value_.integer));
    default:
      throw_not("a number");
  }
}

template <bool kSorted>
std::size_t BasicJson<kSorted>::size() const {
  switch (type_) {
    case JsonType::null:
      return 0;
    case JsonType::array:
      return value_.array->size();
    case JsonType::object:
      return value_.object->members.size();
    default:
      return 1;
  }
}

template <bool kSorted>
bool BasicJson<kSorted>::contains(std::string_view key) const {
  return is_object() && value_.object->find(key) != value_.object->members.end();
}

template <bool kSorted>
const BasicJson<kSorted>* BasicJson<kSorted>::member(std::string_view key) const {
  check_object();
  const auto found = value_.object->find(key);
  return found == value_.object->members.end() ? nullptr : &found->second;
}

template <bool kSorted>
auto BasicJson<kSorted>::find(std::string_view key) -> iterator {
  return is_object() ? iterator(this, Object::packed(value_.object->find(key))) : end();
}

template <bool kSorted>
auto BasicJson<kSorted>::find(std::string_view key) const -> const_iterator {
  return const_cast<BasicJson*>(this)->find(key);
}

template <bool kSorted>
const BasicJson<kSorted>& BasicJson<kSorted>::at(std::string_view key) const {
  if (const BasicJson* found = member(key)) return *found;
  throw JsonError(str("JSON: missing key '", key, "'"));
}

template <bool kSorted>
BasicJson<kSorted>& BasicJson<kSorted>::at(std::string_view key) {
  return const_cast<BasicJson&>(std::as_const(*this).at(key));
}

template <bool kSorted>
const BasicJson<kSorted>& BasicJson<kSorted>::at(std::size_t index) const {
  if (index < elements().size()) return elements()[index];
  throw JsonError(str("JSON: index ", index, " is out of range of ", size(), " elements"));
}

template <bool kSorted>
BasicJson<kSorted>& BasicJson<kSorted>::at(std::size_t index) {
  return const_cast<BasicJson&>(std::as_const(*this).at(index));
}

template <bool kSorted>
BasicJson<kSorted>& BasicJson<kSorted>::operator[](std::string_view key) {
  if (is_null()) *this = object();
  check_object();
  return value_.object->at(key);
}

template <bool kSorted>
BasicJson<kSorted>& BasicJson<kSorted>::operator[](std::size_t index) {
  if (is_null()) *this = array();
  if (index >= elements().size()) elements().resize(index + 1);
  return elements()[index];
}

template <bool kSorted>
void BasicJson<kSorted>::push_back(BasicJson value) {
  if (is_null()) *this = array();
  elements().push_back(std::move(value));
}

template <bool kSorted>
bool BasicJson<kSorted>::emplace(std::string_view key, BasicJson value) {
  if (contains(key)) return false;
  (*this)[key] = std::move(value);
  return true;
}

template <bool kSorted>
void BasicJson<kSorted>::update(const BasicJson& other) {
  if (is_null()) *this = object();
  check_object();
  other.check_object();
  for (const auto& [key, value] : other.value_.object->members) (*this)[key] = value;
}

template <bool kSorted>
void BasicJson<kSorted>::merge_patch(const BasicJson& patch) {
  if (!patch.is_object()) {
    *this = patch;
    return;
  }
  if (!is_object()) *this = object();
  for (const auto& [key, value] : patch.value_.object->members) {
    if (value.is_null())
      erase(key);
    else
      (*this)[key].merge_patch(value);
  }
}

template <bool kSorted>
std::size_t BasicJson<kSorted>::erase(std::string_view key) {
  check_object();
  const auto found = value_.object->find(key);
  if (found == value_.object->members.end()) return 0;
  value_.object->members.erase(found);
  return 1;
}

template <bool kSorted>
auto BasicJson<kSorted>::erase(iterator at) -> iterator {
  if (is_object())
    return {this, Object::packed(value_.object->members.erase(Object::unpacked(at.at_)))};
  const auto index = static_cast<BasicJson*>(at.at_) - elements().data();
  elements().erase(elements().begin() + index);
  return {this, elements().data() + index};
}

template <bool kSorted>
void BasicJson<kSorted>::erase(std::size_t index) {
  at(index);
  elements().erase(elements().begin() + static_cast<std::ptrdiff_t>(index));
}

template <bool kSorted>
void BasicJson<kSorted>::clear() {
  *this = BasicJson(type_);
}

template <bool kSorted>
const BasicJson<kSorted>& BasicJson<kSorted>::back() const {
  if (empty()) throw_not("a value that is not empty");
  return *--end();
}

template <bool kSorted>
const BasicJson<kSorted>& BasicJson<kSorted>::front() const {
  if (empty()) throw_not("a value that is not empty");
  return *begin();
}

template <bool kSorted>
BasicJson<kSorted>& BasicJson<kSorted>::back() {
  return const_cast<BasicJson&>(std::as_const(*this).back());
}

template <bool kSorted>
BasicJson<kSorted>& BasicJson<kSorted>::front() {
  return const_cast<BasicJson&>(std::as_const(*this).front());
}

template <bool kSorted>
const BasicJson<kSorted>* BasicJson<kSorted>::pointer(std::string_view path) const {
  const BasicJson* at = this;
  while (at != nullptr && !path.empty()) {
    if (path.front() != '/') return nullptr;
    path.remove_prefix(1);
    const std::string_view escaped = path.substr(0, path.find('/'));
    path.remove_prefix(escaped.size());
    const std::string key = unescaped(escaped);
    if (at->is_array()) {
      const bool is_index =
          !key.empty() && key.find_first_not_of("0123456789") == std::string::npos;
      const std::size_t index = is_index && key.size() < 10 ? std::stoul(key) : at->size();
      at = index < at->size() ? &at->elements()[index] : nullptr;
    } else {
      at = at->is_object() ? at->member(key) : nullptr;
    }
  }
  return at;
}

template <bool kSorted>
BasicJson<kSorted>* BasicJson<kSorted>::pointer(std::string_view path) {
  return const_cast<BasicJson*>(std::as_const(*this).pointer(path));
}

template <bool kSorted>
void BasicJson<kSorted>::set(std::string_view path, BasicJson value) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) {
    *this = std::move(value);
    return;
  }
  if (BasicJson* at = pointer(path)) {
    *at = std::move(value);
    return;
  }
  if (pointer(path.substr(0, slash)) == nullptr) set(path.substr(0, slash), object());
  (*pointer(path.substr(0, slash)))[unescaped(path.substr(slash + 1))] = std::move(value);
}

template <bool kSorted>
BasicJson<kSorted> BasicJson<kSorted>::flatten() const {
  BasicJson out(JsonType::object);
  const auto add = [&out](const auto& self, const std::string& path,
                          const BasicJson& json) -> void {
    if (json.is_primitive() || json.empty())
      out[path] = json.is_primitive() ? json : BasicJson();
    else
      for (const auto& [key, value] : json.items()) self(self, path + "/" + escaped(key), value);
  };
  add(add, "", *this);
  return out;
}

template <bool kSorted>
auto BasicJson<kSorted>::begin() -> iterator {
  if (is_object()) return {this, Object::packed(value_.object->members.begin())};
  if (is_array()) return {this, value_.array->data()};
  return {this, is_null() ? this + 1 : this};
}

template <bool kSorted>
auto BasicJson<kSorted>::end() -> iterator {
  if (is_object()) return {this, Object::packed(value_.object->members.end())};
  if (is_array()) return {this, value_.array->data() + value_.array->size()};
  return {this, this + 1};
}

template <bool kSorted>
auto BasicJson<kSorted>::begin() const -> const_iterator {
  return const_cast<BasicJson*>(this)->begin();
}

template <bool kSorted>
auto BasicJson<kSorted>::end() const -> const_iterator {
  return const_cast<BasicJson*>(this)->end();
}

template <bool kSorted>
bool BasicJson<kSorted>::equal(const BasicJson& a, const BasicJson& b) {
  if (a.is_number() && b.is_number()) {
    if (a.type_ == JsonType::real || b.type_ == JsonType::real) return a.as_real() == b.as_real();
    return a.value_.integer == b.value_.integer &&
           (a.type_ == b.type_ ||
            a.value_.integer >= 0);  // a negative value has the bits of a large unsigned one
  }
  if (a.type_ != b.type_) return false;
  switch (a.type_) {
    case JsonType::boolean:
      return a.value_.boolean == b.value_.boolean;
    case JsonType::string:
      return *a.value_.string == *b.value_.string;
    case JsonType::array:
      return *a.value_.array == *b.value_.array;
    case JsonType::object:
      return a.value_.object->members == b.value_.object->members;
    default:
      return !a.is_discarded();
  }
}

template <bool kSorted>
std::partial_ordering BasicJson<kSorted>::order(const BasicJson& a, const BasicJson& b) {
  if (a.is_number() && b.is_number()) {
    if (a.type_ == JsonType::real || b.type_ == JsonType::real) return a.as_real() <=> b.as_real();
    const auto is_large = [](const BasicJson& x) {  // above the range of std::int64_t
      return x.type_ == JsonType::unsigned_integer && x.value_.integer < 0;
    };
    if (is_large(a) != is_large(b)) return is_large(a) <=> is_large(b);
    return a.value_.integer <=> b.value_.integer;
  }
  if (a.type_ != b.type_) return rank(a.type_) <=> rank(b.type_);
  const auto all = [](const auto& x, const auto& y, const auto& one) {
    return std::lexicographical_compare_three_way(x.begin(), x.end(), y.begin(), y.end(), one);
  };
  switch (a.type_) {
    case JsonType::boolean:
      return a.value_.boolean <=> b.value_.boolean;
    case JsonType::string:
      return *a.value_.string <=> *b.value_.string;
    case JsonType::array:
      return all(*a.value_.array, *b.value_.array, order);
    case JsonType::object:
      return all(a.value_.object->members, b.value_.object->members,
                 [](const auto& x, const auto& y) -> std::partial_ordering {
                   if (x.first != y.first) return x.first <=> y.first;
                   return order(x.second, y.second);
                 });
    default:
      return std::partial_ordering::equivalent;
  }
}

template <bool kSorted>
template <bool kConst>
const std::string& BasicJson<kSorted>::Iterator<kConst>::key() const {
  if (!json_->is_object()) throw JsonError("JSON: only members of objects have keys");
  return Object::unpacked(at_)->first;
}

template <bool kSorted>
template <bool kConst>
auto BasicJson<kSorted>::Iterator<kConst>::get() const -> pointer {
  return json_->is_object() ? &Object::unpacked(at_)->second : static_cast<pointer>(at_);
}

template <bool kSorted>
template <bool kConst>
auto BasicJson<kSorted>::Iterator<kConst>::operator++() -> Iterator& {
  at_ = json_->is_object() ? Object::packed(std::next(Object::unpacked(at_)))
                           : static_cast<void*>(static_cast<BasicJson*>(at_) + 1);
  return *this;
}

template <bool kSorted>
template <bool kConst>
auto BasicJson<kSorted>::Iterator<kConst>::operator--() -> Iterator& {
  at_ = json_->is_object() ? Object::packed(std::prev(Object::unpacked(at_)))
                           : static_cast<void*>(static_cast<BasicJson*>(at_) - 1);
  return *this;
}

template class BasicJson<true>;
template class BasicJson<false>;
template class BasicJson<true>::Iterator<true>;
template class BasicJson<true>::Iterator<false>;
template class BasicJson<false>::Iterator<true>;
template class BasicJson<false>::Iterator<false>;

}  // namespace smelt
