//===- EngramBench.cpp - Speed of Engram tables on a disk -----------------===//

#include "dsflash/Bench/EngramBench.h"
#include "Format.h"
#include "LoadedModel.h"
#include "dsflash/Runtime/EngramStore.h"

#include <nlohmann/json.hpp>

using namespace dsflash;

/// Rounds of reads, of which the median counts.
static constexpr int kRounds = 5;
/// Threads of the plain reads: what a queue of a disk takes.
static constexpr int kReaders = 32;

namespace {

class Bench {
public:
  Bench(const EngramBenchOptions &options, LoadedModel &loaded,
        EngramStore &store)
      : options(options), loaded(loaded), store(store) {}

  Result<EngramBench> run() {
    if (Status status = readRows(); !status)
      return status;
    if (Status status = takeSteps(); !status)
      return status;
    return result;
  }

private:
  Status readRows() {
    std::mt19937_64 random;
    std::vector<int32_t> tokens;
    for (int64_t i = 0; i < options.promptTokens; ++i)
      tokens.push_back(int32_t(random() % uint64_t(module().vocab_size)));
    std::vector<int32_t> sequence(tokens.size()),
        extents = {0, int32_t(tokens.size())},
        lookback(size_t(module().look_back), -1);
    TensorBuffers buffers{};
    buffers[size_t(Tensor::Tokens)] = tokens.data();
    buffers[size_t(Tensor::Sequence)] = sequence.data();
    buffers[size_t(Tensor::Extents)] = extents.data();
    buffers[size_t(Tensor::Lookback)] = lookback.data();
    std::vector<double> rows, plain;
    for (int round = 0; round < kRounds; ++round) {
      store.forget();
      Stopwatch watch;
      if (Status status = store.start(buffers, {options.promptTokens, 1, 0});
          !status)
        return status;
      store.awaitAll();
      rows.push_back(watch.seconds());
      store.forget();
      watch = Stopwatch();
      store.readAtRandom(kReaders);
      plain.push_back(watch.seconds());
    }
    result.reads = store.startedReads();
    result.rowsRate = double(result.reads) / median(rows);
    result.plainRate = double(result.reads) / median(plain);
    return store.status();
  }

  Status takeSteps() {
    Result<RandomSequence> sequence = RandomSequence::create(*loaded.runner);
    if (!sequence)
      return sequence.status();
    if (Status status = sequence->read(options.promptTokens); !status)
      return status;
    std::vector<double> cold, warm;
    for (int64_t i = 0; i < options.generate; ++i)
      for (bool isCold : {true, false}) {
        if (isCold)
          store.forget();
        // The same token twice, so that its rows are warm the second time.
        Stopwatch watch;
        if (Status status = sequence->repeat(); !status)
          return status;
        (isCold ? cold : warm).push_back(watch.seconds());
        if (!isCold)
          if (Status status = sequence->generate(); !status)
            return status;
      }
    result.coldStep = median(cold);
    result.warmStep = median(warm);
    return Status();
  }

  const dsf_module &module() const { return loaded.model->module(); }

  const EngramBenchOptions &options;
  LoadedModel &loaded;
  EngramStore &store;
  EngramBench result;
};

} // namespace

nlohmann::json EngramBench::json() const {
  return {{"reads", reads},
          {"reads_s", rowsRate},
          {"plain_reads_s", plainRate},
          {"fraction", fraction()},
          {"cold_step_seconds", coldStep},
          {"warm_step_seconds", warmStep},
          {"loss", loss()}};
}

std::string EngramBench::table() const {
  std::string text;
  appendFormat(text,
               "%lld cold reads: %.0f a second, plain reads at random "
               "places %.0f, %.2f of that\n",
               static_cast<long long>(reads), rowsRate, plainRate, fraction());
  appendFormat(text,
               "decode step: %.2f ms with a cold file, %.2f ms with a "
               "warm one, %.1f%% of the speed lost\n",
               coldStep * 1e3, warmStep * 1e3, loss() * 100);
  return text;
}

Result<EngramBench> dsflash::benchEngram(const EngramBenchOptions &options) {
  Result<LoadedModel> loaded =
      LoadedModel::open(options.model, options.weights, options.threads, "cpu",
                        options.engramFile);
  if (!loaded)
    return loaded.status();
  if (loaded->model->module().look_back == 0)
    return Status::error(options.model, "the model has no Engram");
  Result<std::unique_ptr<EngramStore>> store =
      EngramStore::create(*loaded->model);
  if (!store)
    return store.status();
  return Bench(options, *loaded, **store).run();
}
