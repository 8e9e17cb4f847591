//===- CompileCache.cpp - Compiled code kept between runs -----------------===//

#include "dsflash/CompileCache/CompileCache.h"
#include "dsflash/Support/OutputFile.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SHA256.h"
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace fs = std::filesystem;
using namespace dsflash;

static constexpr const char *kSuffix = ".entry";
static constexpr const char *kContent = "content: ";
static constexpr uintmax_t kMaxBytes = uintmax_t(1) << 30;

static std::string getDigest(llvm::StringRef text) {
  llvm::SHA256 hash;
  hash.update(text);
  return llvm::toHex(hash.final(), /*LowerCase=*/true);
}

//===----------------------------------------------------------------------===//
// CacheKey
//===----------------------------------------------------------------------===//

void CacheKey::addText(const std::string &name, const std::string &text) {
  add(name, getDigest(text));
}

std::string CacheKey::str() const {
  std::string text;
  for (const auto &[name, value] : parts)
    text += name + ": " + value + "\n";
  return text;
}

std::string CacheKey::digest() const { return getDigest(str()); }

std::vector<std::string> CacheKey::differences(const std::string &other) const {
  std::vector<std::string> lines;
  for (const auto &[name, value] : parts) {
    if (llvm::StringRef(other).contains(name + ": " + value + "\n"))
      continue;
    llvm::StringRef rest = llvm::StringRef(other).split(name + ": ").second;
    lines.push_back(name + ": " + value + ", there " +
                    rest.split('\n').first.str());
  }
  return lines;
}

//===----------------------------------------------------------------------===//
// CompileCache
//===----------------------------------------------------------------------===//

std::string CompileCache::defaultFolder() {
  llvm::SmallString<128> path;
  if (!llvm::sys::path::cache_directory(path))
    return "";
  llvm::sys::path::append(path, "dsflash");
  return path.str().str();
}

std::string CompileCache::pathOf(const CacheKey &key) const {
  return (fs::path(folder) / (key.digest() + kSuffix)).string();
}

/// What stands before the content: the key and the content's digest.
static std::string getHeader(const CacheKey &key, llvm::StringRef content) {
  return key.str() + kContent + getDigest(content) + "\n";
}

static std::vector<fs::path> listEntries(const std::string &folder) {
  std::vector<fs::path> paths;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error))
    if (it->path().extension() == kSuffix)
      paths.push_back(it->path());
  return paths;
}

/// The key of an entry, without reading its content.
static std::string readKey(const fs::path &path) {
  std::ifstream file(path, std::ios::binary);
  std::string text, line;
  while (std::getline(file, line) && line.rfind(kContent, 0) != 0)
    text += line + "\n";
  return text;
}

std::string CompileCache::explainMiss(const CacheKey &key) const {
  std::vector<fs::path> paths = listEntries(folder);
  if (paths.empty())
    return "miss: no entry in " + folder;
  fs::path nearest;
  std::vector<std::string> fewest;
  for (const fs::path &path : paths) {
    std::vector<std::string> lines = key.differences(readKey(path));
    if (nearest.empty() || lines.size() < fewest.size()) {
      nearest = path;
      fewest = std::move(lines);
    }
  }
  std::string text =
      "miss: the nearest entry, " + nearest.string() + ", differs in";
  for (const std::string &line : fewest)
    text += "\n  " + line;
  return text;
}

CompileCache::Answer CompileCache::find(const CacheKey &key) const {
  std::string path = pathOf(key);
  if (std::optional<std::string> content = read(key))
    return {std::move(content), "hit: " + path};
  if (fs::exists(path))
    return {std::nullopt, "damaged: " + path + " is compiled again"};
  return {std::nullopt, explainMiss(key)};
}

std::optional<std::string> CompileCache::read(const CacheKey &key) const {
  std::string path = pathOf(key);
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return std::nullopt;
  std::string entry{std::istreambuf_iterator<char>(file), {}};
  size_t headerSize = getHeader(key, "").size();
  std::string content =
      entry.size() > headerSize ? entry.substr(headerSize) : "";
  if (entry.compare(0, headerSize, getHeader(key, content)) != 0)
    return std::nullopt;
  std::error_code error;
  fs::last_write_time(path, fs::file_time_type::clock::now(), error);
  return content;
}

/// Removes the entries that were written or found longest ago.
static void prune(const std::string &folder) {
  struct Entry {
    fs::file_time_type used;
    uintmax_t size;
    fs::path path;
  };
  std::vector<Entry> entries;
  uintmax_t total = 0;
  for (const fs::path &path : listEntries(folder)) {
    std::error_code error;
    uintmax_t size = fs::file_size(path, error);
    if (!error)
      entries.push_back({fs::last_write_time(path, error), size, path});
    total += error ? 0 : size;
  }
  std::sort(entries.begin(), entries.end(),
            [](const Entry &a, const Entry &b) { return a.used < b.used; });
  for (const Entry &entry : entries) {
    if (total <= kMaxBytes)
      return;
    std::error_code error;
    fs::remove(entry.path, error);
    total -= entry.size;
  }
}

Status CompileCache::store(const CacheKey &key,
                           const std::string &content) const {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    return Status::error(folder, "cannot be made: " + error.message());
  Status written =
      writeTextFile(pathOf(key), getHeader(key, content) + content);
  if (written)
    prune(folder);
  return written;
}
