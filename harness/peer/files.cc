#include "harness/peer/files.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <system_error>

#include "harness/base/hash.h"

namespace attnbench {
namespace {

namespace fs = std::filesystem;

void AddFile(const fs::path& path, Fnv1a& hash) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return;
  hash.Add(path.filename().string());
  hash.Add(std::string_view("\0", 1));
  std::string block(1 << 16, '\0');
  while (file.read(block.data(), static_cast<std::streamsize>(block.size()))
             .gcount() > 0) {
    hash.Add({block.data(), static_cast<std::size_t>(file.gcount())});
  }
  hash.Add(std::string_view("\0", 1));
}

// The order does not depend on the folder's.
std::set<fs::path> WithNeighbours(const fs::path& path) {
  std::set<fs::path> files = {path};
  if (path.extension() != ".py") return files;
  std::error_code error;
  const fs::path folder = fs::absolute(path, error).parent_path();
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code ignored;
    const fs::path& other = entry->path();
    if (other.extension() == ".py" && entry->is_regular_file(ignored) &&
        other.filename() != path.filename()) {
      files.insert(other);
    }
  }
  return files;
}

}  // namespace

std::vector<std::string> CommandWords(std::string_view command) {
  std::vector<std::string> words;
  bool in_word = false;
  bool is_output = false;  // the word is a file that the command writes to
  char quote = '\0';
  const auto end_word = [&] {
    if (in_word && is_output) words.pop_back();
    if (in_word) is_output = false;
    in_word = false;
  };
  for (std::size_t i = 0; i < command.size(); ++i) {
    const char c = command[i];
    const bool is_escape = c == '\\' && quote != '\'' && i + 1 < command.size();
    if (quote == '\0' &&
        std::string_view(" \t\n;|&<>()").find(c) != std::string_view::npos) {
      end_word();
      if (c == '>') is_output = true;
      continue;
    }
    if (!in_word) words.emplace_back();
    in_word = true;
    if (is_escape) {
      words.back() += command[++i];
    } else if (c == quote) {
      quote = '\0';
    } else if (quote == '\0' && (c == '\'' || c == '"')) {
      quote = c;
    } else {
      words.back() += c;
    }
  }
  end_word();
  return words;
}

std::vector<std::string> PeerFiles(const std::string& command) {
  std::vector<std::string> files;
  for (std::string word : CommandWords(command)) {
    const char* const home = std::getenv("HOME");
    if (home != nullptr && word.starts_with("~/")) word.replace(0, 1, home);
    std::error_code ignored;
    if (!fs::is_regular_file(word, ignored)) continue;
    for (const fs::path& file : WithNeighbours(word)) {
      files.push_back(file.string());
    }
  }
  return files;
}

std::string PeerIdentity(const std::string& command) {
  if (command.empty()) return "";
  Fnv1a hash;
  for (const std::string& file : PeerFiles(command)) AddFile(file, hash);
  return command + " " + hash.Hex();
}

}  // namespace attnbench
