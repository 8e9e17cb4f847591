//===- Timeline.cpp - What ran when, on which thread ----------------------===//

#include "dsflash/Runtime/Timeline.h"
#include "dsflash/Support/OutputFile.h"

#include <nlohmann/json.hpp>

using namespace dsflash;
using nlohmann::json;

Status Timeline::write(const std::string &path) const {
  auto microseconds = [](Clock::duration time) {
    return std::chrono::duration<double, std::micro>(time).count();
  };
  json events = json::array();
  for (size_t thread = 0; thread < spans.size(); ++thread) {
    std::string name =
        thread == 0 ? "caller" : "worker " + std::to_string(thread);
    events.push_back({{"name", "thread_name"},
                      {"ph", "M"},
                      {"pid", 1},
                      {"tid", thread},
                      {"args", {{"name", name}}}});
    for (const Span &span : spans[thread]) {
      json event = {{"name", span.name},
                    {"ph", "X"},
                    {"pid", 1},
                    {"tid", thread},
                    {"ts", microseconds(span.begin - start)},
                    {"dur", microseconds(span.end - span.begin)}};
      if (span.countName)
        event["args"] = {{span.countName, span.count}};
      events.push_back(std::move(event));
    }
  }
  json document = {{"traceEvents", std::move(events)},
                   {"displayTimeUnit", "ms"}};
  return writeTextFile(path, document.dump() + "\n");
}
