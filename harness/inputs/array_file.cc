#include "harness/inputs/array_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <zip.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "harness/base/error.h"
#include "harness/base/input_file.h"
#include "harness/base/printable.h"
#include "harness/inputs/case_file.h"

namespace attnbench {
namespace {

constexpr std::size_t kMostHeaderBytes = 10'000;  // what numpy reads, too
constexpr std::size_t kMostAxes = 32;
constexpr std::string_view kNpyMagic = "\x93NUMPY";
constexpr std::string_view kZipMagic = "PK";

[[noreturn]] void Fail(const std::string& place, const std::string& what) {
  throw UserError(place, what);
}

// What the header of an .npy says.
struct Header {
  std::string descr;  // "<f4"
  bool fortran_order = false;
  std::vector<Index> shape;
};

// Reads the header, which is a Python literal of one form:
// {'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }
class HeaderReader {
 public:
  HeaderReader(std::string_view text, const std::string& place)
      : text_(text), place_(place) {}

  Header Read() {
    Header header;
    std::vector<std::string> keys;
    Expect('{');
    while (!Take('}')) {
      keys.push_back(Text());
      Expect(':');
      if (keys.back() == "descr") {
        header.descr = Descr();
      } else if (keys.back() == "fortran_order") {
        header.fortran_order = Bool();
      } else if (keys.back() == "shape") {
        header.shape = Shape();
      } else {
        Fail("an unknown key '" + Printable(Shortened(keys.back())) + "'");
      }
      if (!Take(',')) {
        Expect('}');
        break;
      }
    }
    std::ranges::sort(keys);
    if (keys != std::vector<std::string>{"descr", "fortran_order", "shape"}) {
      Fail("not the keys descr, fortran_order and shape, once each");
    }
    SkipSpace();
    if (at_ != text_.size()) Fail("something behind its end");
    return header;
  }

 private:
  [[noreturn]] void Fail(const std::string& what) const {
    attnbench::Fail(place_, "has a header with " + what);
  }
  void SkipSpace() {
    while (at_ < text_.size() && std::string_view(" \t\n").find(text_[at_]) !=
                                     std::string_view::npos) {
      ++at_;
    }
  }
  bool Take(char c) {
    SkipSpace();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void Expect(char c) {
    if (!Take(c)) Fail(fmt::format("no '{}' at character {}", c, at_ + 1));
  }
  bool TakeWord(std::string_view word) {
    SkipSpace();
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  std::string Text() {
    SkipSpace();
    const char quote = at_ < text_.size() ? text_[at_] : ' ';
    if (quote != '\'' && quote != '"') {
      Fail(fmt::format("no text at character {}", at_ + 1));
    }
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) Fail("a text without an end");
    std::string text(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return text;
  }
  std::string Descr() {
    SkipSpace();
    if (at_ < text_.size() && text_[at_] == '[') {
      attnbench::Fail(place_,
                      "holds records with fields; save one array of numbers");
    }
    return Text();
  }
  bool Bool() {
    if (TakeWord("True")) return true;
    if (!TakeWord("False")) Fail("a fortran_order that is no True or False");
    return false;
  }
  std::vector<Index> Shape() {
    std::vector<Index> shape;
    Expect('(');
    while (!Take(')')) {
      SkipSpace();
      Index length = 0;
      const auto [end, error] = std::from_chars(
          text_.data() + at_, text_.data() + text_.size(), length);
      if (error != std::errc() || length < 0) {
        Fail(fmt::format("no length at character {} that a shape can have",
                         at_ + 1));
      }
      at_ = static_cast<std::size_t>(end - text_.data());
      shape.push_back(length);
      if (shape.size() > kMostAxes) Fail("more axes than numpy allows");
      if (!Take(',')) {
        Expect(')');
        break;
      }
    }
    return shape;
  }

  const std::string_view text_;
  const std::string& place_;
  std::size_t at_ = 0;
};

// The number of elements; throws for one that no file can have.
std::size_t CountOf(const std::vector<Index>& shape, const std::string& place) {
  std::size_t count = 1;
  for (const Index length : shape) {
    if (__builtin_mul_overflow(count, Size(length), &count) ||
        count > (kMostArrayMebibytes << 20) / sizeof(double)) {
      Fail(place, fmt::format("has the shape {}, which is too large", shape));
    }
  }
  if (count == 0) {
    Fail(place, fmt::format("has the shape {}: it is empty", shape));
  }
  return count;
}

// IEEE 754 binary16, which C++20 has no type for.
struct Half {
  std::uint16_t bits;

  explicit operator double() const {
    const int exponent = (bits >> 10) & 31;
    const double fraction = bits & 1023;
    double size = 0;
    if (exponent == 31) {
      size = fraction == 0 ? HUGE_VAL : std::nan("");
    } else if (exponent == 0) {
      size = std::ldexp(fraction, -24);
    } else {
      size = std::ldexp(1024 + fraction, exponent - 25);
    }
    return (bits & 0x8000) != 0 ? -size : size;
  }
};

template <class Stored>
double Number(const char* bytes, bool swap) {
  std::array<char, sizeof(Stored)> own;
  std::memcpy(own.data(), bytes, sizeof(Stored));
  if (swap) std::ranges::reverse(own);
  Stored number;
  std::memcpy(&number, own.data(), sizeof(Stored));
  return static_cast<double>(number);
}

struct ElementType {
  std::size_t bytes;
  double (*number)(const char* bytes, bool swap);
};
template <class Stored>
ElementType Element() {
  return {sizeof(Stored), &Number<Stored>};
}

ElementType TypeOf(const std::string& descr, const std::string& place) {
  static const std::map<std::string, ElementType, std::less<>> types = {
      {"f2", Element<Half>()},          {"f4", Element<float>()},
      {"f8", Element<double>()},        {"i1", Element<std::int8_t>()},
      {"i2", Element<std::int16_t>()},  {"i4", Element<std::int32_t>()},
      {"i8", Element<std::int64_t>()},  {"u1", Element<std::uint8_t>()},
      {"u2", Element<std::uint16_t>()}, {"u4", Element<std::uint32_t>()},
      {"u8", Element<std::uint64_t>()}, {"b1", Element<std::uint8_t>()}};
  const bool has_order =
      !descr.empty() &&
      std::string_view("<>=|").find(descr[0]) != std::string_view::npos;
  const auto found = types.find(descr.substr(has_order ? 1 : 0));
  if (found != types.end()) return found->second;
  if (descr.find('O') != std::string::npos) {
    Fail(place,
         "holds Python objects, which are not read (they could run "
         "anything); save numbers, e.g. array.astype('float32')");
  }
  Fail(place, fmt::format("has the type '{}'; valid: f2, f4, f8, i1 to i8, u1 "
                          "to u8, b1",
                          Printable(Shortened(descr))));
}

// The place of element n, counted rows first, in an array of that shape stored
// columns first.
std::size_t FortranPlace(const std::vector<Index>& shape, std::size_t n) {
  std::size_t stride = 1;
  for (const Index length : shape) stride *= Size(length);
  std::size_t place = 0;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    stride /= Size(shape[axis]);
    place += n % Size(shape[axis]) * stride;
    n /= Size(shape[axis]);
  }
  return place;
}

std::string_view HeaderText(std::string_view bytes, const std::string& place,
                            std::size_t& data_begin) {
  constexpr std::size_t kVersion = 6, kLength = 8;
  if (bytes.size() < 12) Fail(place, "ends within its header");
  const int version = static_cast<unsigned char>(bytes[kVersion]);
  if (version < 1 || version > 3 || bytes[kVersion + 1] != 0) {
    Fail(place, fmt::format("is of format {}.{}; 1.0 to 3.0 are known", version,
                            static_cast<int>(bytes[kVersion + 1])));
  }
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  std::size_t length = 0;
  for (std::size_t n = length_bytes; n-- > 0;) {
    length = (length << 8) | static_cast<unsigned char>(bytes[kLength + n]);
  }
  data_begin = kLength + length_bytes + length;
  if (length > kMostHeaderBytes) {
    Fail(place, fmt::format("has a header of {} bytes; at most {} are read",
                            length, kMostHeaderBytes));
  }
  if (bytes.size() < data_begin) Fail(place, "ends within its header");
  return bytes.substr(kLength + length_bytes, length);
}

NumberArray FromNpy(std::string_view bytes, const std::string& place) {
  if (!bytes.starts_with(kNpyMagic)) Fail(place, "is not an array of numpy");
  std::size_t data_begin = 0;
  const std::string_view text = HeaderText(bytes, place, data_begin);
  const Header header = HeaderReader(text, place).Read();
  const ElementType type = TypeOf(header.descr, place);
  NumberArray array{place, header.shape, {}};
  const std::size_t count = CountOf(array.shape, place);
  const std::size_t there = bytes.size() - data_begin;
  if (there != count * type.bytes) {
    Fail(place,
         fmt::format("has {} bytes of numbers, {} of type {} are {}", there,
                     array.shape, Printable(Shortened(header.descr)),
                     count * type.bytes));
  }
  const bool swap = header.descr[0] == '>';
  array.values.resize(count);
  const char* const data = bytes.data() + data_begin;
  for (std::size_t n = 0; n < count; ++n) {
    const std::size_t from =
        header.fortran_order ? FortranPlace(array.shape, n) : n;
    array.values[n] = type.number(data + from * type.bytes, swap);
  }
  return array;
}

// An open archive; its bytes outlive it.
class Archive {
 public:
  Archive(std::string_view bytes, const std::string& path) : path_(path) {
    zip_error_t error;
    zip_error_init(&error);
    zip_source_t* const source =
        zip_source_buffer_create(bytes.data(), bytes.size(), 0, &error);
    if (source != nullptr) {
      zip_.reset(
          zip_open_from_source(source, ZIP_RDONLY | ZIP_CHECKCONS, &error));
      if (zip_ == nullptr) zip_source_free(source);
    }
    const std::string why = zip_error_strerror(&error);
    zip_error_fini(&error);
    if (zip_ == nullptr) Fail(path, "is not an .npz: " + why);
  }

  // The names of the arrays, without .npy.
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    const auto count =
        static_cast<zip_uint64_t>(zip_get_num_entries(zip_.get(), 0));
    for (zip_uint64_t n = 0; n < count; ++n) {
      const char* const name = zip_get_name(zip_.get(), n, 0);
      const std::string_view file = name == nullptr ? "" : name;
      if (file.ends_with(kSuffix)) {
        names.emplace_back(file.substr(0, file.size() - kSuffix.size()));
      }
    }
    return names;
  }

  std::string Bytes(const std::string& name) const {
    const std::string place = path_ + ": " + name;
    const zip_int64_t index =
        zip_name_locate(zip_.get(), (name + std::string(kSuffix)).c_str(), 0);
    zip_stat_t about;
    zip_stat_init(&about);
    if (index < 0 ||
        zip_stat_index(zip_.get(), static_cast<zip_uint64_t>(index), 0,
                       &about) != 0) {
      Fail(place, "cannot be found in the archive");
    }
    if (about.size > kMostArrayMebibytes << 20) {
      Fail(place, fmt::format("is larger than {} MiB", kMostArrayMebibytes));
    }
    const std::unique_ptr<zip_file_t, Close> file(
        zip_fopen_index(zip_.get(), static_cast<zip_uint64_t>(index), 0));
    std::string bytes;
    // Sizes of an archive may lie: memory is taken as bytes come.
    std::array<char, 1 << 16> part;
    zip_int64_t got = file == nullptr ? -1 : 1;
    while (got > 0 && bytes.size() <= about.size) {
      got = zip_fread(file.get(), part.data(), part.size());
      if (got > 0) bytes.append(part.data(), static_cast<std::size_t>(got));
    }
    if (got < 0 || bytes.size() != about.size) {
      Fail(place, "cannot be unpacked; the archive is damaged");
    }
    return bytes;
  }

 private:
  static constexpr std::string_view kSuffix = ".npy";
  struct Discard {
    void operator()(zip_t* zip) const { zip_discard(zip); }
  };
  struct Close {
    void operator()(zip_file_t* file) const { zip_fclose(file); }
  };
  const std::string& path_;
  std::unique_ptr<zip_t, Discard> zip_;
};

// The wanted name among those that there are.
std::string ChooseName(const std::optional<std::string>& asked,
                       const std::string& name,
                       const std::vector<std::string>& names,
                       const std::string& path) {
  const std::string& wanted = asked ? *asked : name;
  if (Contains(names, wanted)) return wanted;
  std::string text = UnknownName("array", wanted, names);
  if (!asked && !names.empty()) {
    text += fmt::format("; say which, e.g. {}:{}", path, names.front());
  }
  Fail(path, text);
}

NumberArray FromCase(const std::string& path,
                     const std::optional<std::string>& asked,
                     const std::string& name) {
  const CaseFile file = ReadCaseFile(path);
  std::vector<std::string> names;
  for (const auto& [input, table] : file.inputs) names.push_back(input);
  const std::string chosen = ChooseName(asked, name, names, path);
  const Table<double>& table = file.inputs.at(chosen);
  NumberArray array{
      path + ": inputs." + chosen, {table.rows, table.cols}, table.values};
  array.files = file.inputs.files;
  return array;
}

NumberArray FromNumpy(const std::string& path,
                      const std::optional<std::string>& asked,
                      const std::string& name) {
  const std::string bytes = ReadInput(path, kMostArrayMebibytes);
  if (bytes.empty()) Fail(path, "is empty");
  if (bytes.starts_with(kZipMagic)) {
    const Archive archive(bytes, path);
    const std::string chosen = ChooseName(asked, name, archive.Names(), path);
    return FromNpy(archive.Bytes(chosen), path + ": " + chosen);
  }
  if (!bytes.starts_with(kNpyMagic)) {
    Fail(path,
         "is neither an .npy nor an .npz of numpy, nor a case file (.json); "
         "numpy.save writes an .npy");
  }
  if (asked) Fail(path, "holds one array, which has no name");
  return FromNpy(bytes, path);
}

// FILE:NAME, where there is no file of the whole name.
std::pair<std::string, std::optional<std::string>> PathAndName(
    const std::string& text) {
  const std::size_t colon = text.rfind(':');
  std::error_code ignored;
  if (colon == std::string::npos || std::filesystem::exists(text, ignored)) {
    return {text, std::nullopt};
  }
  return {text.substr(0, colon), text.substr(colon + 1)};
}

}  // namespace

NumberArray ReadArray(const std::string& text, const std::string& name) {
  const auto [path, asked] = PathAndName(text);
  NumberArray array = path.ends_with(".json") ? FromCase(path, asked, name)
                                              : FromNumpy(path, asked, name);
  array.files.push_back(path);
  return array;
}

std::vector<std::string> NamesOfArrays(const std::string& path) {
  const std::string bytes = ReadInput(path, kMostArrayMebibytes);
  if (!bytes.starts_with(kZipMagic)) return {};
  return Archive(bytes, path).Names();
}

std::string FileOfArray(const std::string& text) {
  return PathAndName(text).first;
}

std::string PlaceInArray(const std::vector<Index>& shape, std::size_t n) {
  std::vector<std::size_t> place(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    place[axis] = n % Size(shape[axis]) + 1;
    n /= Size(shape[axis]);
  }
  return fmt::format("[{}]", fmt::join(place, ", "));
}

}  // namespace attnbench
