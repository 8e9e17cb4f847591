//===- Function.cpp - Runs one function of any stage ----------------------===//
//
// The function is compiled to a module of one entry. The call itself is made in
// a child process, so that an index out of range ends in a message.
//
//===----------------------------------------------------------------------===//

#include "Function.h"

#include "dsflash/Runtime/Device.h"
#include "dsflash/Runtime/Model.h"
#include "dsflash/Runtime/Session.h"
#include "dsflash/Runtime/ThreadPool.h"
#include "dsflash/Runtime/WeightBinding.h"
#include "dsflash/Support/Program.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace dsflash;
using namespace dsflash::run;

namespace {

//===----------------------------------------------------------------------===//
// Compiling
//===----------------------------------------------------------------------===//

Status compile(const FunctionOptions &options, const std::string &model) {
  return runProgram({toolBeside("dsflash-compile"), "--from=" + options.stage,
                     options.file, "--function=" + options.name, "-o", model});
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

const char *const kDimNames[DSF_DIM_COUNT] = {"rows", "sequences", "outputs"};

std::optional<DType> dtypeOf(uint32_t type) {
  return dtypeFromName(abiTypeName(type));
}

/// Memory that a child process shares, zero at first.
class SharedBuffer {
public:
  static Result<SharedBuffer> create(size_t bytes) {
    void *data =
        mmap(nullptr, std::max<size_t>(bytes, 1), PROT_READ | PROT_WRITE,
             MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED)
      return Status::error("memory", std::to_string(bytes) +
                                         " bytes: " + std::strerror(errno));
    return SharedBuffer(data, bytes);
  }
  SharedBuffer(SharedBuffer &&other) noexcept
      : data(std::exchange(other.data, nullptr)), bytes(other.bytes) {}
  ~SharedBuffer() {
    if (data)
      munmap(data, std::max<size_t>(bytes, 1));
  }

  void *get() const { return data; }

private:
  SharedBuffer(void *data, size_t bytes) : data(data), bytes(bytes) {}
  void *data;
  size_t bytes;
};

class FunctionCall {
public:
  FunctionCall(const dsf_module &module, const FunctionOptions &options)
      : module(module), entry(module.entries[0]), options(options) {}

  Status run(int threads) {
    Result<SafetensorsFile> opened = SafetensorsFile::open(options.input);
    Result<CheckpointIndex> weights = CheckpointIndex::openFile(options.input);
    if (!opened || !weights)
      return opened ? weights.status() : opened.status();
    input = std::move(*opened);
    Status faults = findExtents();
    Result<BoundWeights> bound =
        BoundWeights::bind(module, std::move(*weights), /*tokenizer=*/nullptr);
    if (!bound)
      faults.add(bound.status());
    if (!faults)
      return faults;
    checkUse(*bound, faults);
    faults.add(makeBuffers());
    if (!faults)
      return faults;
    faults.add(call(bound->slots(), threads));
    return faults ? writeResults() : faults;
  }

private:
  static bool isRead(const dsf_tensor &tensor) {
    return tensor.access != DSF_WRITE;
  }
  static bool isWritten(const dsf_tensor &tensor) {
    return tensor.access != DSF_READ;
  }
  const TensorInfo *find(const dsf_tensor &tensor) const {
    return isRead(tensor) ? input->find(tensor.name) : nullptr;
  }
  std::string shapeOf(const dsf_tensor &tensor) const {
    int64_t extent = extents[tensor.dim];
    std::string leading =
        extent < 0 ? kDimNames[tensor.dim] : std::to_string(extent);
    return tensor.row_elements == 1
               ? "[" + leading + "]"
               : "[" + leading + ", " + std::to_string(tensor.row_elements) +
                     "]";
  }

  /// Checks the arguments in the file and takes the leading extents from them.
  Status findExtents() {
    Status faults;
    for (int64_t i = 0; i < entry.tensor_count; ++i) {
      const dsf_tensor &tensor = entry.tensors[i];
      if (!isRead(tensor))
        continue;
      std::string needed = std::string(abiTypeName(tensor.type)) + " ";
      const TensorInfo *given = find(tensor);
      bool fits = given && given->dtype == dtypeOf(tensor.type) &&
                  takeExtent(tensor, *given);
      if (!fits)
        faults.add(options.input,
                   std::string("tensor '") + tensor.name + "' is " +
                       (given ? std::string(dtypeName(given->dtype)) + " " +
                                    shapeString(given->shape)
                              : "missing") +
                       ", the function needs " + needed + shapeOf(tensor));
    }
    if (extents[DSF_DIM_SEQUENCES] < 0)
      extents[DSF_DIM_SEQUENCES] = 1;
    for (int64_t i = 0; i < entry.tensor_count && faults; ++i)
      if (extents[entry.tensors[i].dim] < 0)
        faults.add(options.input, std::string("nothing in it says how many ") +
                                      kDimNames[entry.tensors[i].dim] +
                                      " there are, for '" +
                                      entry.tensors[i].name + "'");
    for (int64_t &extent : extents)
      extent = std::max<int64_t>(extent, 0);
    return faults;
  }

  /// False unless the shape fits.
  bool takeExtent(const dsf_tensor &tensor, const TensorInfo &given) {
    if (given.shape.empty() || given.shape[0] < 1)
      return false;
    int64_t elements = 1;
    for (size_t i = 1; i < given.shape.size(); ++i)
      elements *= given.shape[i];
    int64_t &extent = extents[tensor.dim];
    if (elements != tensor.row_elements ||
        (extent >= 0 && extent != given.shape[0]))
      return false;
    extent = given.shape[0];
    return true;
  }

  /// A tensor of the file that is neither argument nor weight is a mistake.
  void checkUse(const BoundWeights &weights, Status &faults) const {
    std::set<std::string> arguments;
    for (int64_t i = 0; i < entry.tensor_count; ++i)
      if (const TensorInfo *given = find(entry.tensors[i]))
        arguments.insert(given->name);
    for (const TensorInfo &tensor : input->tensors())
      if (!arguments.count(tensor.name) && !weights.uses(tensor.name))
        faults.add(options.input, "tensor '" + tensor.name +
                                      "' is no argument or weight of the "
                                      "function");
  }

  Status makeBuffers() {
    for (int64_t i = 0; i < entry.tensor_count; ++i) {
      const dsf_tensor &tensor = entry.tensors[i];
      size_t bytes = size_t(extents[tensor.dim] * tensor.row_elements) *
                     dtypeSize(*dtypeOf(tensor.type));
      Result<SharedBuffer> buffer = SharedBuffer::create(bytes);
      if (!buffer)
        return buffer.status();
      if (const TensorInfo *given = find(tensor))
        std::memcpy(buffer->get(), input->data(*given), bytes);
      buffers.push_back(std::move(*buffer));
    }
    return Status();
  }

  Status call(const void *const *weights, int threads) const {
    pid_t child = fork();
    if (child < 0)
      return Status::error("fork", std::strerror(errno));
    if (child == 0)
      _exit(callHere(weights, threads));
    int state = 0;
    while (waitpid(child, &state, 0) < 0 && errno == EINTR) {
    }
    std::string where = "@" + options.name;
    if (WIFSIGNALED(state))
      return Status::error(where,
                           std::string("compiled code stopped: ") +
                               strsignal(WTERMSIG(state)) +
                               "; an index in the input may be out of range");
    if (int code = WEXITSTATUS(state))
      return Status::error(where, "compiled code failed with code " +
                                      std::to_string(code));
    return Status();
  }

  /// The exit code of the child.
  int callHere(const void *const *weights, int threads) const {
    std::vector<Session> sessions;
    std::vector<void *> states, tensors;
    for (int64_t i = 0; i < extents[DSF_DIM_SEQUENCES]; ++i) {
      Result<Session> session = Session::create(module, i);
      if (!session)
        return ENOMEM;
      states.push_back(session->state());
      sessions.push_back(std::move(*session));
    }
    for (const SharedBuffer &buffer : buffers)
      tensors.push_back(buffer.get());
    int64_t units = *std::max_element(std::begin(extents), std::end(extents));
    Result<SharedBuffer> workspace = SharedBuffer::create(size_t(
        entry.workspace_row_bytes * units + entry.workspace_fixed_bytes));
    if (!workspace)
      return ENOMEM;
    ThreadPool pool(threads);
    dsf_env env{};
    env.user = &pool;
    env.parallel_for = [](void *pool, dsf_task task, void *context,
                          int64_t count) {
      static_cast<ThreadPool *>(pool)->run(task, context, count);
    };
    dsf_call call{&env,           weights,          states.data(),
                  tensors.data(), workspace->get(), {}};
    std::copy(std::begin(extents), std::end(extents), call.dims);
    return entry.function(&call) & 0xff;
  }

  Status writeResults() const {
    std::vector<TensorView> results;
    for (int64_t i = 0; i < entry.tensor_count; ++i) {
      const dsf_tensor &tensor = entry.tensors[i];
      if (!isWritten(tensor))
        continue;
      std::vector<int64_t> shape{extents[tensor.dim]};
      if (tensor.row_elements != 1)
        shape.push_back(tensor.row_elements);
      results.push_back(
          {tensor.name, *dtypeOf(tensor.type), shape, buffers[i].get()});
    }
    return writeSafetensors(options.output, results);
  }

  const dsf_module &module;
  const dsf_entry &entry;
  const FunctionOptions &options;
  std::optional<SafetensorsFile> input;
  /// By dsf_dim; -1: not known.
  int64_t extents[DSF_DIM_COUNT] = {-1, -1, -1};
  std::vector<SharedBuffer> buffers;
};

} // namespace

Status run::runFunction(const FunctionOptions &options, int threads) {
  Result<ScratchFolder> scratch = ScratchFolder::create("dsflash-run");
  if (!scratch)
    return scratch.status();
  std::string path = scratch->path() + "/function.dsflash";
  if (Status status = compile(options, path); !status)
    return status;
  Result<std::unique_ptr<Model>> model = Model::open(path);
  if (!model)
    return model.status();
  if (std::string device = deviceTargets((*model)->module()); !device.empty())
    return Status::error("--function", "the text is lowered for " + device +
                                           "; a function runs on the cpu");
  return FunctionCall((*model)->module(), options).run(threads);
}
