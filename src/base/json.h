// A JSON value. nlohmann-json parses and prints it, but only inside json.cpp: a file that includes
// nlohmann's own header takes up to four seconds longer to compile.
//
// Json keeps the members of an object sorted by key, OrderedJson in the order of insertion. Both
// have the part of nlohmann::json's interface that smelt uses, with the same meaning.
#pragma once

#include <array>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <iosfwd>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace smelt {

// Thrown for a value of another type than expected, a missing key or an index out of range.
class JsonError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Thrown for text that is not JSON.
class JsonParseError : public JsonError {
 public:
  JsonParseError(const std::string& what, std::size_t at) : JsonError(what), byte(at) {}
  std::size_t
      byte;  // position of the last byte that was read, counted from 1; 0 if it is not known
};

// Thrown for a number that does not fit in a double.
class JsonRangeError : public JsonError {
  using JsonError::JsonError;
};

enum class JsonType : std::uint8_t {
  null,
  boolean,
  signed_integer,
  unsigned_integer,
  real,
  string,
  array,
  object,
  discarded
};

// How dump() treats strings that are not valid UTF-8: throw JsonError, or print U+FFFD.
enum class JsonInvalidUtf8 : std::uint8_t { reject, replace };

template <bool kSorted>
class BasicJson;
using Json = BasicJson<true>;
using OrderedJson = BasicJson<false>;

namespace internal {

template <class T>
struct JsonReadable : std::bool_constant<std::is_arithmetic_v<T> && !std::is_same_v<T, char>> {};
template <>
struct JsonReadable<std::string> : std::true_type {};
template <bool kSorted>
struct JsonReadable<BasicJson<kSorted>> : std::true_type {};
template <class T>
struct JsonReadable<std::vector<T>> : JsonReadable<T> {};
template <class T>
struct JsonReadable<std::set<T>> : JsonReadable<T> {};
template <class T, std::size_t kSize>
struct JsonReadable<std::array<T, kSize>> : JsonReadable<T> {};
template <class T>
struct JsonReadable<std::map<std::string, T>> : JsonReadable<T> {};
template <class A, class B>
struct JsonReadable<std::pair<A, B>>
    : std::bool_constant<JsonReadable<A>::value && JsonReadable<B>::value> {};

template <class T>
struct JsonRead;

template <class T>
concept JsonText = std::convertible_to<const T&, std::string_view> && !std::is_null_pointer_v<T>;

template <class T>
concept JsonScalar = std::is_arithmetic_v<T> || std::is_null_pointer_v<T> || JsonText<T>;

}  // namespace internal

// Types that get<T>() reads and to which a value converts implicitly.
template <class T>
concept JsonReadable = internal::JsonReadable<T>::value;

template <bool kSorted>
class BasicJson {
 public:
  using Array = std::vector<BasicJson>;
  template <bool kConst>
  class Iterator;
  using iterator = Iterator<false>;
  using const_iterator = Iterator<true>;
  using value_type = BasicJson;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;
  using reference = BasicJson&;
  using const_reference = const BasicJson&;

  // One element of a braced list: any value, or a nested list.
  class Init {
   public:
    template <class T>
      requires std::constructible_from<BasicJson, T&&>
    Init(T&& value) : value_(std::forward<T>(value)) {}
    Init(std::initializer_list<Init> list) : value_(list) {}
    BasicJson take() const { return std::move(value_); }
    const BasicJson& value() const { return value_; }

   private:
    mutable BasicJson value_;
  };

  BasicJson() = default;  // null
  BasicJson(std::nullptr_t) {}
  explicit BasicJson(JsonType type);  // an empty value of the type
  template <std::same_as<bool> T>
  BasicJson(T value) : type_(JsonType::boolean) {
    value_.boolean = value;
  }
  template <class T>
    requires(std::integral<T> && !std::same_as<T, bool>)
  BasicJson(T value)
      : type_(std::is_signed_v<T> ? JsonType::signed_integer : JsonType::unsigned_integer) {
    value_.integer = static_cast<std::int64_t>(value);
  }
  template <class T>
    requires(std::is_enum_v<T> && std::is_convertible_v<T, std::underlying_type_t<T>>)
  BasicJson(T value) : BasicJson(static_cast<std::underlying_type_t<T>>(value)) {}
  template <std::floating_point T>
  BasicJson(T value) : type_(JsonType::real) {
    value_.real = static_cast<double>(value);
  }
  template <internal::JsonText T>
    requires(!std::same_as<T, std::string>)
  BasicJson(const T& text) : BasicJson(from_text(text)) {}
  BasicJson(const std::string& text);
  BasicJson(std::string&& text);
  BasicJson(std::vector<bool>::const_reference value)
    requires(!std::same_as<std::vector<bool>::const_reference, bool>)
      : BasicJson(static_cast<bool>(value)) {}
  BasicJson(Array elements);
  // Creates an object if every element is a {string, value} pair, otherwise an array.
  BasicJson(std::initializer_list<Init> list);
  template <class A, class B>
  BasicJson(const std::pair<A, B>& pair) : type_(JsonType::null) {
    push_back(BasicJson(pair.first));
    push_back(BasicJson(pair.second));
  }
  // Creates an object from a map with string keys, and an array from any other range.
  template <class Range>
    requires(!internal::JsonText<Range> && !std::same_as<Range, Array> &&
             !std::same_as<Range, Init> && !std::same_as<Range, BasicJson<true>> &&
             !std::same_as<Range, BasicJson<false>> &&
             requires(const Range& r) {
               r.begin();
               r.end();
               requires std::constructible_from<BasicJson, decltype(*r.begin())>;
             })
  BasicJson(const Range& range) {
    if constexpr (requires { typename Range::mapped_type; }) {
      *this = object();
      for (const auto& [key, value] : range) (*this)[std::string_view(key)] = BasicJson(value);
    } else {
      *this = array();
      for (auto&& element : range) push_back(BasicJson(element));
    }
  }
  BasicJson(const BasicJson<!kSorted>& other);
  BasicJson(const BasicJson& other);
  BasicJson(BasicJson&& other) noexcept : type_(other.type_), value_(other.value_) {
    other.type_ = JsonType::null;
  }
  BasicJson& operator=(BasicJson other) noexcept {
    std::swap(type_, other.type_);
    std::swap(value_, other.value_);
    return *this;
  }
  ~BasicJson() {
    if (type_ >= JsonType::string) destroy();
  }

  static BasicJson object() { return BasicJson(JsonType::object); }
  static BasicJson object(std::initializer_list<Init> list);
  static BasicJson array() { return BasicJson(JsonType::array); }
  static BasicJson array(std::initializer_list<Init> list);

  // Called for each key that an object has twice, with the depth of the object (1 for the
  // outermost).
  using OnRepeatedKey = std::function<void(int depth, const std::string& key)>;
  // Parses JSON. If a key is repeated, its last value is used. Throws JsonParseError for invalid
  // text and for nesting of more than 512 levels, JsonRangeError for a number that does not fit in
  // a double.
  static BasicJson parse(std::string_view text, const OnRepeatedKey& on_repeated_key = nullptr);
  // Parses the text. Returns a value for which is_discarded() is true if the text is not JSON.
  static BasicJson parse_or_discard(std::string_view text);

  // Returns the value as JSON text, on one line if `indent` is negative. Throws JsonError for
  // invalid UTF-8 unless `invalid` is `replace`.
  std::string dump(int indent = -1, char indent_char = ' ', bool ascii_only = false,
                   JsonInvalidUtf8 invalid = JsonInvalidUtf8::reject) const;

  JsonType type() const { return type_; }
  const char* type_name() const;
  bool is_null() const { return type_ == JsonType::null; }
  bool is_boolean() const { return type_ == JsonType::boolean; }
  bool is_number_integer() const {
    return type_ == JsonType::signed_integer || type_ == JsonType::unsigned_integer;
  }
  bool is_number_unsigned() const { return type_ == JsonType::unsigned_integer; }
  bool is_number_float() const { return type_ == JsonType::real; }
  bool is_number() const { return is_number_integer() || is_number_float(); }
  bool is_string() const { return type_ == JsonType::string; }
  bool is_array() const { return type_ == JsonType::array; }
  bool is_object() const { return type_ == JsonType::object; }
  bool is_structured() const { return is_array() || is_object(); }
  bool is_primitive() const { return !is_structured(); }
  bool is_discarded() const { return type_ == JsonType::discarded; }

  // Return the text of a string, or the elements of an array. Throw JsonError if the value has
  // another type. check_object() throws JsonError unless the value is an object.
  const std::string& string() const;
  std::string& string();
  const Array& elements() const;
  Array& elements();
  void check_object() const;

  // Returns the value as a T. Throws JsonError if it has an incompatible type. Numbers convert to
  // any type of number.
  template <JsonReadable T>
  T get() const {
    if constexpr (std::is_same_v<T, bool>)
      return as_bool();
    else if constexpr (std::is_floating_point_v<T>)
      return static_cast<T>(as_real());
    else if constexpr (std::is_integral_v<T>)
      return static_cast<T>(as_integer());
    else if constexpr (std::is_same_v<T, std::string>)
      return string();
    else if constexpr (std::is_same_v<T, BasicJson<true>> || std::is_same_v<T, BasicJson<false>>)
      return T(*this);
    else
      return internal::JsonRead<T>::from(*this);
  }
  template <class T>
    requires(JsonReadable<T> && !std::same_as<T, BasicJson<true>> &&
             !std::same_as<T, BasicJson<false>>)
  operator T() const {
    return get<T>();
  }

  // Returns the number of elements or members; 0 for null, 1 for any other value.
  std::size_t size() const;
  bool empty() const { return size() == 0; }
  bool contains(std::string_view key) const;
  std::size_t count(std::string_view key) const { return contains(key) ? 1 : 0; }
  iterator find(std::string_view key);
  const_iterator find(std::string_view key) const;

  // Throw JsonError if the element is missing.
  BasicJson& at(std::string_view key);
  const BasicJson& at(std::string_view key) const;
  BasicJson& at(std::size_t index);
  const BasicJson& at(std::size_t index) const;
  template <class C>
    requires std::same_as<C, char>
  BasicJson& at(const C* key) {
    return at(std::string_view(key));
  }
  template <class C>
    requires std::same_as<C, char>
  const BasicJson& at(const C* key) const {
    return at(std::string_view(key));
  }
  // Returns the element. If it is missing, adds a null; a null value becomes an object or an array
  // first. The const overloads throw JsonError if the element is missing, like at().
  BasicJson& operator[](std::string_view key);
  BasicJson& operator[](const std::string& key) { return (*this)[std::string_view(key)]; }
  BasicJson& operator[](std::size_t index);
  const BasicJson& operator[](std::string_view key) const { return at(key); }
  const BasicJson& operator[](const std::string& key) const { return at(std::string_view(key)); }
  const BasicJson& operator[](std::size_t index) const { return at(index); }
  template <class C>
    requires std::same_as<C, char>
  BasicJson& operator[](const C* key) {
    return (*this)[std::string_view(key)];
  }
  template <class C>
    requires std::same_as<C, char>
  const BasicJson& operator[](const C* key) const {
    return at(std::string_view(key));
  }
  template <class C>
    requires(std::integral<C> && !std::same_as<C, std::size_t>)
  BasicJson& operator[](C index) {
    return (*this)[static_cast<std::size_t>(index)];
  }
  template <class C>
    requires(std::integral<C> && !std::same_as<C, std::size_t>)
  const BasicJson& operator[](C index) const {
    return at(static_cast<std::size_t>(index));
  }

  // Returns the member's value, or the default if the object has no such member.
  template <class T>
  auto value(std::string_view key, T&& otherwise) const {
    using Value =
        std::conditional_t<internal::JsonText<std::decay_t<T>>, std::string, std::decay_t<T>>;
    const BasicJson* found = member(key);
    return found != nullptr ? found->template get<Value>() : Value(std::forward<T>(otherwise));
  }

  // Appends an element. A null value becomes an array first.
  void push_back(BasicJson value);
  void push_back(std::initializer_list<Init> list) { push_back(BasicJson(list)); }
  template <class... Args>
  BasicJson& emplace_back(Args&&... args) {
    push_back(BasicJson(std::forward<Args>(args)...));
    return back();
  }
  // Adds the member if the key is new. Returns true if it was added.
  bool emplace(std::string_view key, BasicJson value);
  // Adds the members of another object; they replace members with the same keys.
  void update(const BasicJson& other);
  void merge_patch(const BasicJson& patch);  // RFC 7396
  std::size_t erase(std::string_view key);
  iterator erase(iterator at);
  void erase(std::size_t index);
  void clear();

  // Throw JsonError if the value is empty.
  BasicJson& front();
  const BasicJson& front() const;
  BasicJson& back();
  const BasicJson& back() const;

  // Returns the value at a JSON pointer such as "/model/vocab/0" (RFC 6901), or nullptr if it does
  // not exist.
  const BasicJson* pointer(std::string_view path) const;
  BasicJson* pointer(std::string_view path);
  // Sets the value at a JSON pointer, adding members of objects that are missing.
  void set(std::string_view path, BasicJson value);
  // Returns a one-level object that maps each leaf's JSON pointer to its value.
  BasicJson flatten() const;

  iterator begin();
  iterator end();
  const_iterator begin() const;
  const_iterator end() const;

  // The members of an object, or the elements of an array keyed by their index.
  template <bool kConst>
  class Items;
  Items<false> items() { return {begin(), end()}; }
  Items<true> items() const { return {begin(), end()}; }

  friend bool operator==(const BasicJson& a, const BasicJson& b) { return equal(a, b); }
  template <class T>
    requires internal::JsonScalar<T>
  friend bool operator==(const BasicJson& a, const T& b) {
    return equal(a, BasicJson(b));
  }
  // Orders numbers by value, other values by type (null, booleans, numbers, objects, arrays,
  // strings) and then by value.
  friend std::partial_ordering operator<=>(const BasicJson& a, const BasicJson& b) {
    return order(a, b);
  }
  template <class T>
    requires internal::JsonScalar<T>
  friend std::partial_ordering operator<=>(const BasicJson& a, const T& b) {
    return order(a, BasicJson(b));
  }
  friend std::ostream& operator<<(std::ostream& out, const BasicJson& json) {
    print(out, json);
    return out;
  }

 private:
  friend class BasicJson<!kSorted>;
  struct Object;
  class Builder;
  class Printer;

  union Value {
    bool boolean;
    std::int64_t integer;  // the bits of a std::uint64_t if the type is unsigned_integer
    double real;
    std::string* string;
    Array* array;
    Object* object;
  };

  static BasicJson from_text(std::string_view text);
  static bool equal(const BasicJson& a, const BasicJson& b);
  static std::partial_ordering order(const BasicJson& a, const BasicJson& b);
  static void print(std::ostream& out, const BasicJson& json);
  void destroy();
  const BasicJson* member(std::string_view key) const;  // throws JsonError unless it is an object
  [[noreturn]] void throw_not(const char* wanted) const;
  bool as_bool() const;
  std::int64_t as_integer() const;  // truncated
  double as_real() const;

  JsonType type_ = JsonType::null;
  Value value_ = {.integer = 0};
};

template <bool kSorted>
template <bool kConst>
class BasicJson<kSorted>::Iterator {
 public:
  using iterator_category = std::bidirectional_iterator_tag;
  using value_type = BasicJson;
  using difference_type = std::ptrdiff_t;
  using reference = std::conditional_t<kConst, const BasicJson&, BasicJson&>;
  using pointer = std::conditional_t<kConst, const BasicJson*, BasicJson*>;

  Iterator() = default;
  template <bool kOther>
    requires(kConst && !kOther)
  Iterator(const Iterator<kOther>& other) : json_(other.json_), at_(other.at_) {}

  reference operator*() const { return *get(); }
  pointer operator->() const { return get(); }
  bool in_object() const { return json_->is_object(); }
  const std::string& key() const;  // throws JsonError unless in_object()
  reference value() const { return *get(); }
  Iterator& operator++();
  Iterator& operator--();
  Iterator operator++(int) {
    Iterator old = *this;
    ++*this;
    return old;
  }
  Iterator operator--(int) {
    Iterator old = *this;
    --*this;
    return old;
  }
  Iterator operator+(std::ptrdiff_t by) const {
    Iterator out = *this;
    for (; by > 0; --by) ++out;
    for (; by < 0; ++by) --out;
    return out;
  }
  friend bool operator==(const Iterator& a, const Iterator& b) { return a.at_ == b.at_; }

 private:
  friend class BasicJson;
  friend class Iterator<true>;
  Iterator(pointer json, void* at) : json_(json), at_(at) {}
  pointer get() const;

  pointer json_ = nullptr;
  // Points to an array element, a member of an OrderedJson object or a map node of a Json object.
  // For a scalar, points to the value itself (begin) or one past it (end).
  void* at_ = nullptr;
};

template <bool kSorted>
template <bool kConst>
class BasicJson<kSorted>::Items {
 public:
  using Position = BasicJson::Iterator<kConst>;
  struct Item {
    std::string name;
    typename Position::reference json;

    const std::string& key() const { return name; }
    typename Position::reference value() const { return json; }
  };
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Item;
    using difference_type = std::ptrdiff_t;
    using reference = Item;
    using pointer = void;

    Iterator() = default;
    explicit Iterator(Position at) : at_(at) {}
    Item operator*() const { return {at_.in_object() ? at_.key() : std::to_string(index_), *at_}; }
    Iterator& operator++() {
      ++at_;
      ++index_;
      return *this;
    }
    Iterator operator++(int) {
      Iterator old = *this;
      ++*this;
      return old;
    }
    friend bool operator==(const Iterator& a, const Iterator& b) { return a.at_ == b.at_; }

   private:
    Position at_;
    std::size_t index_ = 0;
  };

  Items(Position from, Position to) : begin_(from), end_(to) {}
  Iterator begin() const { return Iterator(begin_); }
  Iterator end() const { return Iterator(end_); }

 private:
  Position begin_, end_;
};

namespace internal {

template <class T>
struct JsonRead<std::vector<T>> {
  static std::vector<T> from(const auto& json) {
    std::vector<T> out;
    out.reserve(json.elements().size());
    for (const auto& element : json.elements()) out.push_back(element.template get<T>());
    return out;
  }
};
template <class T>
struct JsonRead<std::set<T>> {
  static std::set<T> from(const auto& json) {
    std::set<T> out;
    for (const auto& element : json.elements()) out.insert(element.template get<T>());
    return out;
  }
};
template <class T, std::size_t kSize>
struct JsonRead<std::array<T, kSize>> {
  static std::array<T, kSize> from(const auto& json) {
    std::array<T, kSize> out;
    for (std::size_t i = 0; i < kSize; ++i) out[i] = json.at(i).template get<T>();
    return out;
  }
};
template <class A, class B>
struct JsonRead<std::pair<A, B>> {
  static std::pair<A, B> from(const auto& json) {
    return {json.at(std::size_t{0}).template get<A>(), json.at(std::size_t{1}).template get<B>()};
  }
};
template <class T>
struct JsonRead<std::map<std::string, T>> {
  static std::map<std::string, T> from(const auto& json) {
    std::map<std::string, T> out;
    json.check_object();
    for (auto at = json.begin(); at != json.end(); ++at) out[at.key()] = at->template get<T>();
    return out;
  }
};

}  // namespace internal

extern template class BasicJson<true>;
extern template class BasicJson<false>;
extern template class BasicJson<true>::Iterator<true>;
extern template class BasicJson<true>::Iterator<false>;
extern template class BasicJson<false>::Iterator<true>;
extern template class BasicJson<false>::Iterator<false>;

}  // namespace smelt
