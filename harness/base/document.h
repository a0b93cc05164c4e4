// Typed documents: a struct lists its members once, and its JSON, the reading
// of that JSON with every check, and its JSON Schema (draft 7) all follow from
// the list. Nothing else in the program knows the key of a document.
//
//   struct Latency {
//     double ap = 0, al = 0;
//     static void Fields(auto& self, auto& visit) {
//       visit("ap", self.ap, Rule{.minimum = 0, .maximum = 1});
//       visit("al", self.al);
//     }
//   };
//
//   Json json = ToJson(latency);
//   Latency again = FromJson<Latency>(json, "r.json");  // throws UserError
//   Json schema = SchemaOf<Latency>();
//
// A member may be a bool, a whole number, a double, a text, another such
// struct, std::optional (null), std::vector (a list), std::map from text or
// OrderedMap (an object with members of any name), Json (anything), an
// enumeration with ValueNames, or a type that specialises JsonForm. Nothing is
// optional unless it says so. Unknown keys are errors, except in a struct with
// `static constexpr bool kIgnoresOthers`, which another program reads too. A
// `place` in an error reads "r.json: cells[3].samples_ns[0]". A struct may have
// `static Json Conditions()`: the conditions of its schema that several members
// share ("if", "then").
#ifndef ATTNBENCH_HARNESS_BASE_DOCUMENT_H_
#define ATTNBENCH_HARNESS_BASE_DOCUMENT_H_

#include <concepts>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/base/json.h"
#include "harness/base/names.h"

namespace attnbench {

// A rule says what a member's value must be beyond its type. The rule is about
// the innermost values: the numbers of a list, the text of an optional one.
struct Rule {
  const char* description = nullptr;
  std::optional<double> minimum = {};
  std::optional<double> exclusive_minimum = {};
  std::optional<double> maximum = {};
  std::optional<double> exclusive_maximum = {};
  std::optional<double> multiple_of = {};
  // The text must not be "".
  bool not_empty = false;
  // A regular expression (ECMAScript) that must be found in the text.
  std::string pattern = {};
  // The text must be one of these.
  std::vector<std::string> one_of = {};
  // The number of elements that a list may have.
  std::size_t min_items = 0;
  std::optional<std::size_t> max_items = {};
  // Older documents lack this member; the struct's default then stands for it.
  bool may_be_absent = false;
  // An empty std::optional, or the null of a JsonForm, is left out of the
  // document instead of written as null.
  bool absent_if_unset = false;
  // The member's schema is the definition of this name in the whole schema.
  std::string definition = {};
  // The type has a JsonForm of its own, which accepts null.
  bool may_be_null = false;
};

inline const Rule kAtLeastZero{.minimum = 0};
inline const Rule kAboveZero{.exclusive_minimum = 0};
inline const Rule kAtLeastOne{.minimum = 1};
inline const Rule kNotEmpty{.not_empty = true};

// The place of a value; it becomes text only for an error.
class Place {
 public:
  explicit Place(std::string_view document) : name_(document) {}
  Place(const Place& owner, std::string_view key)
      : owner_(&owner), name_(key) {}
  Place(const Place& owner, std::size_t index)
      : owner_(&owner), index_(index), is_index_(true) {}
  std::string Text() const;

 private:
  const Place* owner_ = nullptr;
  std::string_view name_ = {};
  std::size_t index_ = 0;
  bool is_index_ = false;
};

// Throws UserError naming the place.
[[noreturn]] void FailAt(const Place& place, const std::string& what);

// Another type than those above specialises this to stand in JSON:
//   static Json Write(const T&);
//   static T Read(const Json&, const Rule&, const Place&);  // throws by FailAt
//   static Json Schema(const Rule&);
template <class T>
struct JsonForm;

// One value, or a list of at least one.
template <class T>
struct OneOrMore {
  std::vector<T> values = {};
  bool is_list = false;

  // Calls visit(value, place of the value).
  void ForEach(const Place& place, const auto& visit) const {
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (is_list) {
        visit(values[i], Place(place, i));
      } else {
        visit(values[i], place);
      }
    }
  }
};

namespace document {

template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};
template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::true_type {};
template <class T>
struct IsMap : std::false_type {};
template <class T>
struct IsMap<std::map<std::string, T>> : std::true_type {};
template <class T>
struct IsMap<OrderedMap<T>> : std::true_type {};

// Each function checks what its name says; all throw UserError naming the
// place.
bool ReadBool(const Json& json, const Place& place);
std::int64_t ReadWhole(const Json& json, const Rule& rule, const Place& place);
std::uint64_t ReadUnsigned(const Json& json, const Rule& rule,
                           const Place& place);
double ReadDouble(const Json& json, const Rule& rule, const Place& place);
// Reads a text that is one of the rule's, if it has any, and matches its
// pattern.
std::string ReadString(const Json& json, const Rule& rule, const Place& place);
// Reads a text that is one of the rule's, or else matches its pattern.
std::string ReadOneText(const Json& json, const Rule& rule, const Place& place);
void CheckIsList(const Json& json, const Rule& rule, const Place& place);
void CheckIsObject(const Json& json, const Place& place);
// Checks that every key of the object is one of `names`.
void CheckKeys(const Json& json, const std::vector<std::string>& names,
               const Place& place);
// The member of that name; null where there is none and the rule allows that.
const Json* FindMember(const Json& json, const char* name, const Rule& rule,
                       const Place& place);
// The `schema` with what the rule adds to it.
Json WithRule(Json schema, const Rule& rule);
Json ListSchema(Json items, const Rule& rule);
Json NullOrSchema(Json schema);
// {"$ref": ...}
Json Defined(const std::string& definition);
Json ObjectSchema(Json properties, Json required);
std::string SchemaText(const char* title, const Json& schema);

template <class T>
Json Write(const T& value);
template <class T>
T Read(const Json& json, const Rule& rule, const Place& place);
template <class T>
Json Schema(const Rule& rule);

// These are the visitors of Fields.
struct Writer {
  Json json = Json::object();

  template <class T>
  void operator()(const char* name, const T& value, const Rule& rule = {}) {
    if constexpr (IsOptional<T>::value) {
      if (rule.absent_if_unset && !value) return;
    } else if constexpr (requires { value.is_null(); }) {
      if (rule.absent_if_unset && value.is_null()) return;
    }
    json[name] = Write(value);
  }
};

struct NameLister {
  std::vector<std::string> names = {};

  template <class T>
  void operator()(const char* name, const T& /*value*/,
                  const Rule& /*rule*/ = {}) {
    names.emplace_back(name);
  }
};

struct Reader {
  const Json& json;
  const Place& place;

  template <class T>
  void operator()(const char* name, T& value, const Rule& rule = {}) {
    const Json* const member = FindMember(json, name, rule, place);
    if (member != nullptr) value = Read<T>(*member, rule, Place(place, name));
  }
};

struct SchemaMaker {
  Json properties = Json::object();
  Json required = Json::array();

  template <class T>
  void operator()(const char* name, const T& /*value*/, const Rule& rule = {}) {
    properties[name] =
        rule.definition.empty() ? Schema<T>(rule) : Defined(rule.definition);
    if (rule.description != nullptr) {
      properties[name]["description"] = rule.description;
    }
    if (!rule.may_be_absent && !rule.absent_if_unset) required.push_back(name);
  }
};

template <class T>
Json Write(const T& value) {
  if constexpr (std::same_as<T, Json> || std::same_as<T, bool> ||
                std::integral<T> || std::same_as<T, std::string>) {
    return Json(value);
  } else if constexpr (std::floating_point<T>) {
    return NumberOrNull(value);
  } else if constexpr (IsOptional<T>::value) {
    return value ? Write(*value) : Json(nullptr);
  } else if constexpr (IsVector<T>::value) {
    Json list = Json::array();
    for (const auto& element : value) list.push_back(Write(element));
    return list;
  } else if constexpr (IsMap<T>::value) {
    Json object = Json::object();
    for (const auto& [name, element] : value) object[name] = Write(element);
    return object;
  } else if constexpr (requires { JsonForm<T>::Write(value); }) {
    return JsonForm<T>::Write(value);
  } else {
    Writer writer;
    T::Fields(value, writer);
    return std::move(writer.json);
  }
}

template <class T>
T Read(const Json& json, const Rule& rule, const Place& place) {
  if constexpr (std::same_as<T, Json>) {
    return json;
  } else if constexpr (std::same_as<T, bool>) {
    return ReadBool(json, place);
  } else if constexpr (std::unsigned_integral<T>) {
    return static_cast<T>(ReadUnsigned(json, rule, place));
  } else if constexpr (std::integral<T>) {
    const std::int64_t number = ReadWhole(json, rule, place);
    if (!std::in_range<T>(number)) FailAt(place, "is out of range");
    return static_cast<T>(number);
  } else if constexpr (std::floating_point<T>) {
    return ReadDouble(json, rule, place);
  } else if constexpr (std::same_as<T, std::string>) {
    return ReadString(json, rule, place);
  } else if constexpr (IsOptional<T>::value) {
    if (json.is_null() && !rule.absent_if_unset) return {};
    return Read<typename T::value_type>(json, rule, place);
  } else if constexpr (IsVector<T>::value) {
    CheckIsList(json, rule, place);
    T list;
    list.reserve(json.size());
    for (std::size_t i = 0; i < json.size(); ++i) {
      list.push_back(
          Read<typename T::value_type>(json[i], rule, Place(place, i)));
    }
    return list;
  } else if constexpr (IsMap<T>::value) {
    CheckIsObject(json, place);
    T map;
    for (const auto& [name, element] : json.items()) {
      map.emplace(name, Read<typename T::mapped_type>(element, rule,
                                                      Place(place, name)));
    }
    return map;
  } else if constexpr (requires { JsonForm<T>::Read(json, rule, place); }) {
    return JsonForm<T>::Read(json, rule, place);
  } else {
    CheckIsObject(json, place);
    T value;
    if constexpr (!requires { T::kIgnoresOthers; }) {
      // A misspelt key is reported before the member that it leaves missing.
      NameLister lister;
      T::Fields(value, lister);
      CheckKeys(json, lister.names, place);
    }
    Reader reader{json, place};
    T::Fields(value, reader);
    return value;
  }
}

template <class T>
Json Schema(const Rule& rule) {
  if constexpr (std::same_as<T, Json>) {
    return Json::object();
  } else if constexpr (std::same_as<T, bool>) {
    return {{"type", "boolean"}};
  } else if constexpr (std::integral<T>) {
    Json schema = {{"type", "integer"}};
    if (std::unsigned_integral<T> && !rule.minimum) schema["minimum"] = 0;
    return WithRule(std::move(schema), rule);
  } else if constexpr (std::floating_point<T>) {
    return WithRule({{"type", "number"}}, rule);
  } else if constexpr (std::same_as<T, std::string>) {
    return WithRule({{"type", "string"}}, rule);
  } else if constexpr (IsOptional<T>::value) {
    Json schema = Schema<typename T::value_type>(rule);
    return rule.absent_if_unset ? schema : NullOrSchema(std::move(schema));
  } else if constexpr (IsVector<T>::value) {
    return ListSchema(Schema<typename T::value_type>(rule), rule);
  } else if constexpr (IsMap<T>::value) {
    return {{"type", "object"},
            {"additionalProperties", Schema<typename T::mapped_type>(rule)}};
  } else if constexpr (requires { JsonForm<T>::Schema(rule); }) {
    return JsonForm<T>::Schema(rule);
  } else {
    T value;
    SchemaMaker maker;
    T::Fields(value, maker);
    Json schema =
        ObjectSchema(std::move(maker.properties), std::move(maker.required));
    if constexpr (requires { T::kIgnoresOthers; }) {
      schema["additionalProperties"] = true;
    }
    if constexpr (requires { T::Conditions(); }) {
      schema.update(T::Conditions());
    }
    return schema;
  }
}

}  // namespace document

// A value of an enumeration stands by its name.
template <Named T>
struct JsonForm<T> {
  static Json Write(T value) { return NameOf(value); }
  static T Read(const Json& json, const Rule& /*rule*/, const Place& place) {
    const Rule one{.one_of = NamesOf<T>()};
    return *FindNamed<T>(document::ReadString(json, one, place));
  }
  static Json Schema(const Rule& /*rule*/) { return {{"enum", NamesOf<T>()}}; }
};

template <class T>
struct JsonForm<OneOrMore<T>> {
  static OneOrMore<T> Read(const Json& json, const Rule& rule,
                           const Place& place) {
    if (!json.is_array()) return {{document::Read<T>(json, rule, place)}};
    if (json.empty()) FailAt(place, "the list of values is empty");
    return {document::Read<std::vector<T>>(json, rule, place), true};
  }
  static Json Schema(const Rule& rule) {
    Json value = document::Schema<T>(rule);
    Json list = document::ListSchema(value, {.min_items = 1});
    return {{"anyOf", {std::move(value), std::move(list)}}};
  }
};

template <class T>
Json ToJson(const T& value) {
  return document::Write(value);
}

// Throws UserError naming the first place that is wrong.
template <class T>
T FromJson(const Json& json, const Place& place) {
  return document::Read<T>(json, {}, place);
}
template <class T>
T FromJson(const Json& json, std::string_view path) {
  return FromJson<T>(json, Place(path));
}

template <class T>
Json SchemaOf() {
  return document::Schema<T>({});
}

// The schema of a whole document, as it is printed and committed. T::kTitle
// says what the document is.
template <class T>
std::string SchemaTextOf() {
  return document::SchemaText(T::kTitle, SchemaOf<T>());
}

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_BASE_DOCUMENT_H_
