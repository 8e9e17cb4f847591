//===- SessionFile.h - Sequences on disk ------------------------*- C++ -*-===//
//
// A file has what grows with a sequence: its token ids, global KV and index
// keys. Rings and pending groups are left out and replayed. docs/Sessions.md
// has the format.
//
//===----------------------------------------------------------------------===//

#ifndef DSFLASH_RUNTIME_SESSIONFILE_H
#define DSFLASH_RUNTIME_SESSIONFILE_H

#include "dsflash/Runtime/ModelRunner.h"
#include "dsflash/Runtime/Session.h"

#include <cstdint>
#include <string>
#include <vector>

namespace dsflash {

/// A sequence to go on with.
struct Continuation {
  Session session;
  /// Its last tokens, which were not computed yet.
  std::vector<int32_t> waiting;

  int64_t length() const { return session.length() + int64_t(waiting.size()); }
  /// Whether a turn behind it needs an end token first: a reply was cut off.
  bool needsEnd(const Model &model) const {
    const std::vector<int32_t> &tokens =
        waiting.empty() ? session.tokens() : waiting;
    int32_t end = model.manifest().eosToken;
    return end >= 0 && !tokens.empty() && tokens.back() != end;
  }
};

/// Writes a sequence. The file appears whole or not at all; one that was there
/// stays until then. Error: any failure of the file system.
Status saveSession(const std::string &path, const Model &model,
                   const Session &session, const std::vector<int32_t> &waiting);

/// Reads a sequence and replays its last window. Errors: no session file, a
/// newer one, a damaged one, one of another model or of other numerics.
Result<Continuation> loadSession(const std::string &path, ModelRunner &runner,
                                 int64_t index = 0);

/// Takes back all positions from `length` on. What is left is the state that
/// loadSession would make of it.
Status dropTokens(ModelRunner &runner, Session &session, int64_t length);

} // namespace dsflash

#endif // DSFLASH_RUNTIME_SESSIONFILE_H
