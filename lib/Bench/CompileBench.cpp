//===- CompileBench.cpp - Time of the compiler ----------------------------===//

#include "dsflash/Bench/CompileBench.h"
#include "Format.h"
#include "LoadedModel.h"
#include "dsflash/Support/Json.h"
#include "dsflash/Support/Program.h"

#include <algorithm>

using namespace dsflash;
using nlohmann::json;

namespace {

/// Passes below this part of the whole share a row of the table.
constexpr double kSmallPart = 0.01;
/// The report of a large model has more values than other files.
constexpr size_t kReportValues = size_t(1) << 20;

/// One run of the compiler with an empty cache.
struct ColdRun {
  double seconds = 0;
  std::vector<CompileBench::Stage> stages;
  std::vector<CompileBench::Pass> passes;
};

class Bench {
public:
  Bench(const CompileBenchOptions &options, const std::string &folder)
      : options(options), folder(folder) {}

  Result<CompileBench> run() {
    std::vector<ColdRun> cold;
    std::vector<double> cached;
    for (int64_t i = 0; i < options.repeat; ++i) {
      Result<ColdRun> made = runCold(i);
      if (!made)
        return made.status();
      cold.push_back(std::move(*made));
      Result<double> seconds = compile(i, {});
      if (!seconds)
        return seconds.status();
      cached.push_back(*seconds);
    }
    auto middle = cold.begin() + std::ptrdiff_t(cold.size() / 2);
    std::nth_element(cold.begin(), middle, cold.end(),
                     [](const ColdRun &a, const ColdRun &b) {
                       return a.seconds < b.seconds;
                     });
    return CompileBench{middle->seconds, median(std::move(cached)),
                        std::move(middle->stages), std::move(middle->passes)};
  }

private:
  /// The seconds of a run that uses the cache of that number.
  Result<double> compile(int64_t cache, const std::vector<std::string> &more) {
    std::vector<std::string> command = {toolBeside("dsflash-compile"),
                                        options.checkpoint,
                                        "-o",
                                        folder + "/model.dsflash",
                                        "--cache-dir",
                                        folder + "/" + std::to_string(cache)};
    command.insert(command.end(), options.flags.begin(), options.flags.end());
    command.insert(command.end(), more.begin(), more.end());
    Stopwatch watch;
    if (Status status = runProgram(command); !status)
      return status;
    return watch.seconds();
  }

  Result<ColdRun> runCold(int64_t cache) {
    std::string path = folder + "/report.json";
    Result<double> seconds = compile(cache, {"--report=" + path});
    if (!seconds)
      return seconds.status();
    Result<json> report = readJsonFile(path, kReportValues);
    if (!report)
      return report.status();
    ColdRun run{*seconds, {}, {}};
    for (const json &row : report->at("stages"))
      run.stages.push_back({row["name"], row["seconds"], row["operations"]});
    for (const json &row : report->at("passes"))
      run.passes.push_back({row["stage"], row["name"], row["seconds"]});
    std::sort(
        run.passes.begin(), run.passes.end(),
        [](const auto &a, const auto &b) { return a.seconds > b.seconds; });
    return run;
  }

  const CompileBenchOptions &options;
  const std::string &folder;
};

} // namespace

json CompileBench::json() const {
  nlohmann::json stageRows = nlohmann::json::array();
  for (const Stage &stage : stages)
    stageRows.push_back({{"name", stage.name},
                         {"seconds", stage.seconds},
                         {"operations", stage.operations}});
  nlohmann::json passRows = nlohmann::json::array();
  for (const Pass &pass : passes)
    passRows.push_back({{"stage", pass.stage},
                        {"name", pass.name},
                        {"seconds", pass.seconds}});
  return {{"compile",
           {{"seconds", cold},
            {"cached_seconds", cached},
            {"stages", stageRows},
            {"passes", passRows}}}};
}

std::string CompileBench::table() const {
  std::string text;
  appendFormat(text, "compiled in %.3f s, from the cache in %.3f s\n", cold,
               cached);
  appendFormat(text, "  %-10s %8s %6s %11s\n", "stage", "s", "part",
               "operations");
  for (const Stage &stage : stages)
    appendFormat(text, "  %-10s %8.3f %5.1f%% %11lld\n", stage.name.c_str(),
                 stage.seconds, 100 * stage.seconds / cold,
                 static_cast<long long>(stage.operations));
  appendFormat(text, "  %-36s %-10s %8s %6s\n", "pass", "stage", "s", "part");
  double others = 0;
  for (const Pass &pass : passes) {
    if (pass.seconds < kSmallPart * cold)
      others += pass.seconds;
    else
      appendFormat(text, "  %-36s %-10s %8.3f %5.1f%%\n", pass.name.c_str(),
                   pass.stage.c_str(), pass.seconds, 100 * pass.seconds / cold);
  }
  appendFormat(text, "  %-36s %-10s %8.3f %5.1f%%\n", "all others", "", others,
               100 * others / cold);
  return text;
}

Result<CompileBench> dsflash::benchCompile(const CompileBenchOptions &options) {
  Result<ScratchFolder> scratch = ScratchFolder::create("dsflash-bench");
  if (!scratch)
    return scratch.status();
  return Bench(options, scratch->path()).run();
}
