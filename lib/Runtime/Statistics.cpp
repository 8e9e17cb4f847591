//===- Statistics.cpp - What a run took -----------------------------------===//

#include "dsflash/Runtime/Statistics.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdio>
#include <sys/resource.h>

using namespace dsflash;

static double rate(double amount, double seconds) {
  return seconds > 0 ? amount / seconds : 0;
}

double Statistics::tokensPerStep() const {
  return steps.steps ? double(steps.gained) / double(steps.steps) : 0;
}

double Statistics::promptTokensPerSecond() const {
  return rate(double(promptTokens), promptSeconds);
}

double Statistics::generateTokensPerSecond() const {
  return rate(double(steps.gained), generateSeconds);
}

nlohmann::json Statistics::json() const {
  return {{"prompt_tokens", promptTokens},
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
  char text[256];
  std::snprintf(text, sizeof text,
                "%lld prompt tokens at %.1f tokens/s, %lld generated at %.1f "
                "tokens/s, %.2f tokens a step, KV %.0f bytes a token, memory "
                "%.0f MB",
                static_cast<long long>(promptTokens), promptTokensPerSecond(),
                static_cast<long long>(generatedTokens),
                generateTokensPerSecond(), tokensPerStep(), kvBytesPerToken,
                double(peakMemoryBytes) / 1e6);
  return text;
}

int64_t dsflash::peakMemoryBytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return int64_t(usage.ru_maxrss) * 1024;
}
