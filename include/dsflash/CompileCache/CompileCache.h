//===- CompileCache.h - Compiled code kept between runs ---------*- C++ -*-===//
//
// A folder of objects, one file each, named by the digest of all that
// the code depends on. It may be shared by processes and deleted at any time.
//
//===----------------------------------------------------------------------===//

#ifndef DSFLASH_COMPILECACHE_COMPILECACHE_H
#define DSFLASH_COMPILECACHE_COMPILECACHE_H

#include "dsflash/Support/Status.h"
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace dsflash {

/// Everything that compiled code depends on, as named parts of one line each.
class CacheKey {
public:
  void add(const std::string &name, const std::string &value) {
    parts.emplace_back(name, value);
  }
  /// Adds the digest of a text of any length.
  void addText(const std::string &name, const std::string &text);

  /// "name: value" lines.
  std::string str() const;
  /// SHA-256 of str().
  std::string digest() const;
  /// What differs from the key with the text `other`, one line each.
  std::vector<std::string> differences(const std::string &other) const;

private:
  std::vector<std::pair<std::string, std::string>> parts;
};

class CompileCache {
public:
  struct Answer {
    /// The bytes; none: it has to be compiled.
    std::optional<std::string> content;
    /// "hit: ...", "miss: ..." or "damaged: ...".
    std::string explanation;
  };

  explicit CompileCache(std::string folder) : folder(std::move(folder)) {}
  /// Below XDG_CACHE_HOME, or .cache in the home folder; empty without either.
  static std::string defaultFolder();

  /// The entry of a key, if it is there and its bytes have the digest that was
  /// written with them.
  Answer find(const CacheKey &key) const;
  /// The same without a word.
  std::optional<std::string> read(const CacheKey &key) const;
  /// Writes the entry of a key, whole or not at all, then removes the entries
  /// that were not used for longest while all together exceed a gigabyte.
  Status store(const CacheKey &key, const std::string &content) const;

private:
  std::string pathOf(const CacheKey &key) const;
  std::string explainMiss(const CacheKey &key) const;

  std::string folder;
};

} // namespace dsflash

#endif // DSFLASH_COMPILECACHE_COMPILECACHE_H
