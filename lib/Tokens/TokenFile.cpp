//===- TokenFile.cpp - Token ids from a JSON list -------------------------===//

#include "dsflash/Tokens/TokenFile.h"
#include "dsflash/Support/Json.h"
#include "dsflash/Support/MappedFile.h"

#include <algorithm>

using namespace dsflash;
using nlohmann::json;

namespace {

/// Lists wrong ids, as many as are worth reading.
class TokenFaults {
public:
  explicit TokenFaults(std::string where) : where(std::move(where)) {}

  void add(size_t position, const std::string &why) {
    if (++count <= kMaxListedTokens)
      faults.add(where, "position " + std::to_string(position) + ": " + why);
  }

  void addOutside(size_t position, const std::string &id, int64_t vocab) {
    add(position,
        "token id " + id + " is outside [0, " + std::to_string(vocab) + ")");
  }

  Status finish() && {
    if (count > kMaxListedTokens)
      faults.add(where, std::to_string(count - kMaxListedTokens) +
                            " more wrong token ids");
    return std::move(faults);
  }

private:
  std::string where;
  Status faults;
  int64_t count = 0;
};

} // namespace

Result<std::vector<int32_t>> dsflash::parseTokens(std::string_view text,
                                                  const std::string &where,
                                                  int64_t vocab) {
  TokenFaults faults(where);
  std::vector<int32_t> ids;
  // An id and its comma are two bytes or more.
  ids.reserve(std::min(size_t(std::count(text.begin(), text.end(), ',')) + 1,
                       text.size() / 2 + 1));
  size_t position = 0;
  auto take = [&](const std::string &, const json &id) {
    if (!id.is_number_integer())
      faults.add(position, "a token id must be an integer");
    else if (id < 0 || id >= vocab)
      faults.addOutside(position, id.dump(), vocab);
    else
      ids.push_back(id.get<int32_t>());
    ++position;
  };
  Result<json> parsed =
      parseJson(text, where, {{{}, json::value_t::array, take}});
  if (!parsed)
    return parsed.status();
  if (Status status = std::move(faults).finish(); !status)
    return status;
  return ids;
}

Result<std::vector<int32_t>> dsflash::readTokenFile(const std::string &path,
                                                    int64_t vocab) {
  Result<MappedFile> file = MappedFile::open(path);
  if (!file)
    return file.status();
  return parseTokens(file->text(), path, vocab);
}

Status dsflash::checkTokens(const std::string &where, const int32_t *ids,
                            int64_t count, int64_t first, int64_t vocab) {
  TokenFaults faults(where);
  for (int64_t i = 0; i < count; ++i)
    if (ids[i] < 0 || ids[i] >= vocab)
      faults.addOutside(size_t(first + i), std::to_string(ids[i]), vocab);
  return std::move(faults).finish();
}
