#include "harness/base/json_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "harness/base/error.h"
#include "harness/base/input_file.h"
#include "harness/base/printable.h"

template class nlohmann::basic_json<nlohmann::ordered_map>;

namespace attnbench {
namespace {

class CheckWhileParsing {
 public:
  explicit CheckWhileParsing(const std::string& where) : where_(where) {}

  bool operator()(int depth, Json::parse_event_t event, const Json& parsed) {
    if (depth > kMostJsonDepth) {
      throw UserError(where_, fmt::format("is nested deeper than {} levels",
                                          kMostJsonDepth));
    }
    if (event == Json::parse_event_t::object_start) {
      keys_.emplace_back();
    } else if (event == Json::parse_event_t::object_end) {
      keys_.pop_back();
    } else if (event == Json::parse_event_t::key) {
      const auto key = parsed.get<std::string>();
      if (!keys_.back().insert(key).second) {
        throw UserError(where_, fmt::format("key '{}' appears twice in one "
                                            "object",
                                            Shortened(key)));
      }
    }
    return true;
  }

 private:
  const std::string& where_;
  std::vector<std::set<std::string>> keys_;
};

// The parser names the number (between the last quotation marks), not its
// place.
[[noreturn]] void ThrowTooLarge(const std::string& where,
                                const std::string& text,
                                const std::string& message) {
  const std::size_t last = message.rfind('\'');
  const std::size_t first = message.rfind('\'', last - 1) + 1;
  const std::string number = message.substr(first, last - first);
  const auto place = text.begin() + static_cast<std::ptrdiff_t>(std::min(
                                        text.find(number), text.size()));
  throw UserError(where, fmt::format("line {}: {} is beyond double precision",
                                     1 + std::count(text.begin(), place, '\n'),
                                     Shortened(number)));
}

}  // namespace

Json ReadJsonFile(const std::string& path, std::size_t most_mebibytes) {
  return ParseJson(ReadInput(path, most_mebibytes), path);
}

Json ParseJson(const std::string& text, const std::string& where) {
  if (text.empty()) throw UserError(where, "is empty, must be JSON");
  // The parser takes this for the end of the text.
  const std::size_t nul = text.find('\0');
  if (nul != std::string::npos) {
    throw UserError(
        where, fmt::format("is not JSON: a byte 0 at offset {} of {}, where no "
                           "document has one",
                           nul, text.size()));
  }
  try {
    return Json::parse(text, CheckWhileParsing(where));
  } catch (const Json::parse_error& error) {
    const std::string message = error.what();
    throw UserError(where, "is not JSON: " + Printable(Shortened(message.substr(
                                                 message.find("] ") + 2))));
  } catch (const Json::out_of_range& error) {
    ThrowTooLarge(where, text, error.what());
  }
}

}  // namespace attnbench
