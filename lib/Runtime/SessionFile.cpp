//===- SessionFile.cpp - Sequences on disk --------------------------------===//

#include "dsflash/Runtime/SessionFile.h"
#include "dsflash/Support/Hash.h"
#include "dsflash/Support/Safetensors.h"
#include "dsflash/Tokens/TokenFile.h"

#include <algorithm>
#include <cstring>

using namespace dsflash;

namespace {

constexpr const char *kFormat = "dsflash-session";
constexpr int kVersion = 1;

using Notes = std::map<std::string, std::string>;

std::string noteOf(const Notes &notes, const char *key) {
  auto found = notes.find(key);
  return found == notes.end() ? "" : found->second;
}

/// Hash over all that a file says and holds; tensors in the order of the file.
class Checksum {
public:
  explicit Checksum(const Notes &notes) {
    for (const auto &[key, value] : notes)
      if (key != "checksum")
        hash.add(key).add("=").add(value).add("\n");
  }
  void add(const std::string &name, const std::vector<int64_t> &shape,
           const void *data, size_t bytes) {
    hash.add(name).add(shapeString(shape));
    hash.add({static_cast<const char *>(data), bytes});
  }
  std::string str() const { return hash.hexDigest(); }

private:
  Hash hash;
};

/// Tensors of a session in the order of the file, that of their names. Planes
/// are where the session has them.
std::vector<TensorView> viewsOf(const Model &model, const Session &session,
                                const std::vector<int32_t> &waiting) {
  const dsf_module &module = model.module();
  std::vector<TensorView> views;
  auto addIds = [&](const char *name, const std::vector<int32_t> &ids) {
    views.push_back({name, DType::I32, {int64_t(ids.size())}, ids.data()});
  };
  addIds("tokens", session.tokens());
  addIds("waiting", waiting);
  for (int64_t i = 0; i < module.state_count; ++i) {
    const dsf_state &state = module.states[i];
    if (state.positions_per_row > 0)
      views.push_back({std::string("state.") + state.name,
                       DType::U8,
                       {usedRows(state, session.length()), state.row_bytes},
                       session.plane(state)});
  }
  std::sort(
      views.begin(), views.end(),
      [](const TensorView &a, const TensorView &b) { return a.name < b.name; });
  return views;
}

size_t bytesOf(const TensorView &view) {
  size_t bytes = dtypeSize(view.dtype);
  for (int64_t extent : view.shape)
    bytes *= size_t(extent);
  return bytes;
}

/// Brings the planes of a device's session to the host, into `copies`.
Status fetchPlanes(const Session &session, std::vector<TensorView> &views,
                   std::vector<std::vector<char>> &copies) {
  Status status;
  for (TensorView &view : views) {
    if (!session.isOnDevice() || view.dtype != DType::U8)
      continue;
    std::vector<char> &copy = copies.emplace_back(bytesOf(view));
    status.add(session.copyState(copy.data(), view.data, int64_t(copy.size())));
    view.data = copy.data();
  }
  return status;
}

/// Checks a file from the outside in: is it a session, of a known version,
/// whole, of this model.
class SessionReader {
public:
  SessionReader(const std::string &path, const SafetensorsFile &file,
                const ModelRunner &runner)
      : path(path), file(file), model(runner.model()),
        device(runner.executor().device()) {}

  Status check() const {
    if (Status status = checkFormat(); !status)
      return status;
    if (Status status = checkChecksum(); !status)
      return status;
    return checkModel();
  }

  Result<Continuation> read(int64_t index) const {
    Result<Session> session = Session::create(model.module(), index, device);
    if (!session)
      return session.status();
    std::vector<int32_t> tokens, waiting;
    Status faults = readIds("tokens", 0, tokens);
    faults.add(readIds("waiting", int64_t(tokens.size()), waiting));
    int64_t length = int64_t(tokens.size() + waiting.size());
    if (length > model.module().max_positions)
      faults.add(path, std::to_string(length) +
                           " positions, the model has at most " +
                           std::to_string(model.module().max_positions));
    if (!faults)
      return faults;
    session->append(tokens.data(), int64_t(tokens.size()));
    std::vector<TensorView> views = viewsOf(model, *session, waiting);
    if (views.size() != file.tensors().size())
      return anotherModel();
    for (const TensorView &view : views) {
      const TensorInfo *tensor = file.find(view.name);
      if (!tensor || tensor->dtype != view.dtype || tensor->shape != view.shape)
        return anotherModel();
    }
    faults.add(session->grow(session->length()));
    for (int64_t i = 0; i < model.module().state_count && faults; ++i) {
      const dsf_state &state = model.module().states[i];
      if (state.positions_per_row == 0)
        continue;
      const TensorInfo &tensor = *file.find(std::string("state.") + state.name);
      faults.add(session->copyState(session->plane(state), file.data(tensor),
                                    int64_t(tensor.size())));
    }
    if (!faults)
      return faults;
    return Continuation{std::move(*session), std::move(waiting)};
  }

private:
  Status checkFormat() const {
    if (noteOf(file.metadata(), "format") != kFormat)
      return Status::error(path, "not a session file");
    std::string version = noteOf(file.metadata(), "version");
    if (version != std::to_string(kVersion))
      return Status::error(path, "session format " + version +
                                     ", this runtime reads format " +
                                     std::to_string(kVersion));
    return Status();
  }

  Status checkChecksum() const {
    Checksum checksum(file.metadata());
    for (const TensorInfo &tensor : file.tensors())
      checksum.add(tensor.name, tensor.shape, file.data(tensor), tensor.size());
    if (checksum.str() != noteOf(file.metadata(), "checksum"))
      return Status::error(path, "damaged: the checksum does not match");
    return Status();
  }

  Status checkModel() const {
    std::string numerics = noteOf(file.metadata(), "numerics");
    if (numerics != model.module().numerics)
      return Status::error(path, "saved with " + numerics +
                                     " numerics, the model has " +
                                     model.module().numerics);
    // A model that was compiled from the text of a stage has no config.
    std::string config = noteOf(file.metadata(), "config");
    const std::string &expected = model.manifest().config;
    bool isOtherConfig =
        !config.empty() && !expected.empty() && config != expected;
    if (isOtherConfig ||
        noteOf(file.metadata(), "weights") != model.weights()->fingerprint())
      return anotherModel();
    return Status();
  }

  Status anotherModel() const {
    return Status::error(path, "saved with another model than " + model.path());
  }

  Status readIds(const char *name, int64_t firstPosition,
                 std::vector<int32_t> &ids) const {
    const TensorInfo *tensor = file.find(name);
    if (!tensor || tensor->dtype != DType::I32 || tensor->shape.size() != 1)
      return Status::error(path, std::string("no token ids '") + name + "'");
    ids.resize(size_t(tensor->shape[0]));
    if (!ids.empty())
      std::memcpy(ids.data(), file.data(*tensor), tensor->size());
    return checkTokens(path, ids.data(), int64_t(ids.size()), firstPosition,
                       model.module().vocab_size);
  }

  const std::string &path;
  const SafetensorsFile &file;
  const Model &model;
  Device *device;
};

} // namespace

Status dsflash::saveSession(const std::string &path, const Model &model,
                            const Session &session,
                            const std::vector<int32_t> &waiting) {
  Notes notes = {{"format", kFormat},
                 {"version", std::to_string(kVersion)},
                 {"numerics", model.module().numerics},
                 {"weights", model.weights()->fingerprint()},
                 {"config", model.manifest().config}};
  std::vector<TensorView> views = viewsOf(model, session, waiting);
  std::vector<std::vector<char>> copies;
  if (Status status = fetchPlanes(session, views, copies); !status)
    return status;
  Checksum checksum(notes);
  for (const TensorView &view : views)
    checksum.add(view.name, view.shape, view.data, bytesOf(view));
  notes["checksum"] = checksum.str();
  return writeSafetensors(path, views, notes);
}

Result<Continuation> dsflash::loadSession(const std::string &path,
                                          ModelRunner &runner, int64_t index) {
  Result<SafetensorsFile> file = SafetensorsFile::open(path);
  if (!file)
    return file.status();
  SessionReader reader(path, *file, runner);
  if (Status status = reader.check(); !status)
    return status;
  Result<Continuation> loaded = reader.read(index);
  if (loaded)
    if (Status status = runner.replay(loaded->session); !status)
      return status;
  return loaded;
}

Status dsflash::dropTokens(ModelRunner &runner, Session &session,
                           int64_t length) {
  session.truncate(length);
  return runner.replay(session);
}
