//===- Statistics.cpp - What a run took -----------------------------------===//

#include "dsflash/Runtime/Statistics.h"

#include <nlohmann/json.hpp>

#include <iomanip>
#include <sstream>
#include <sys/resource.h>

using namespace dsflash;

static double rate(double amount, double seconds) {
  return seconds > 0 ? amount / seconds : 0;
}

double Statistics::tokensPerStep() const {
  return steps.steps ? double(steps.gained) / double(steps.steps) : 0;
}

double Statistics::promptTokensPerSecond() const {
  return rate(double(promptTokens - reusedTokens), promptSeconds);
}

double Statistics::generateTokensPerSecond() const {
  return rate(double(steps.gained), generateSeconds);
}

nlohmann::json Statistics::json() const {
  return {{"prompt_tokens", promptTokens},
          {"reused_tokens", reusedTokens},
          {"generated_tokens", generatedTokens},
          {"load_seconds", loadSeconds},
          {"prompt_seconds", promptSeconds},
          {"generate_seconds", generateSeconds},
          {"time_to_first_token", timeToFirstToken},
          {"prompt_tokens_per_second", promptTokensPerSecond()},
          {"generate_tokens_per_second", generateTokensPerSecond()},
          {"tokens_per_step", tokensPerStep()},
          {"accepted", steps.accepted},
          {"kv_bytes_per_token", kvBytesPerToken},
          {"kv_bytes", kvBytes},
          {"peak_memory_bytes", peakMemoryBytes},
          {"weight_bytes_read", weightBytesRead}};
}

std::string Statistics::line() const {
  std::ostringstream text;
  text << std::fixed << std::setprecision(1) << promptTokens
       << " prompt tokens at " << promptTokensPerSecond() << " tokens/s, "
       << reusedTokens << " positions reused, " << generatedTokens
       << " generated at " << generateTokensPerSecond()
       << " tokens/s, first after " << std::setprecision(2) << timeToFirstToken
       << " s, ";
  if (!steps.accepted.empty()) {
    text << "steps by accepted drafts";
    for (int64_t count : steps.accepted)
      text << ' ' << count;
    text << ", ";
  }
  constexpr double megabyte = 1e6;
  text << tokensPerStep() << " tokens a step, KV " << std::setprecision(0)
       << kvBytesPerToken << " bytes a token, memory "
       << double(peakMemoryBytes) / megabyte << " MB, KV in all "
       << std::setprecision(2) << double(kvBytes) / megabyte
       << " MB, weights read " << std::setprecision(0)
       << double(weightBytesRead) / megabyte << " MB";
  return text.str();
}

int64_t dsflash::peakMemoryBytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return int64_t(usage.ru_maxrss) * 1024;
}
