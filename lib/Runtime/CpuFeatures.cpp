//===- CpuFeatures.cpp - What this processor can do -----------------------===//

#include "dsflash/Runtime/CpuFeatures.h"

#include <cstdint>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

using namespace dsflash;

#if defined(__x86_64__)
namespace {

enum Register { EAX, EBX, ECX, EDX };

/// Register state that the operating system must save, as bits of XCR0.
enum SavedState : uint64_t {
  None = 0,
  AVX = 0x6,
  AVX512 = 0xe6,
  AMX = 0x60000,
  APX = 0x80000
};

struct Feature {
  const char *name;
  uint32_t leaf, subleaf;
  Register reg;
  int bit;
  SavedState state;
};

constexpr uint32_t kExtended = 0x80000001, kExtended8 = 0x80000008;

constexpr Feature kFeatures[] = {
    {"sse3", 1, 0, ECX, 0, None},
    {"pclmul", 1, 0, ECX, 1, None},
    {"ssse3", 1, 0, ECX, 9, None},
    {"fma", 1, 0, ECX, 12, AVX},
    {"cx16", 1, 0, ECX, 13, None},
    {"sse4.1", 1, 0, ECX, 19, None},
    {"sse4.2", 1, 0, ECX, 20, None},
    {"crc32", 1, 0, ECX, 20, None},
    {"movbe", 1, 0, ECX, 22, None},
    {"popcnt", 1, 0, ECX, 23, None},
    {"aes", 1, 0, ECX, 25, None},
    {"xsave", 1, 0, ECX, 27, None},
    {"avx", 1, 0, ECX, 28, AVX},
    {"f16c", 1, 0, ECX, 29, AVX},
    {"rdrnd", 1, 0, ECX, 30, None},
    {"x87", 1, 0, EDX, 0, None},
    {"cx8", 1, 0, EDX, 8, None},
    {"cmov", 1, 0, EDX, 15, None},
    {"mmx", 1, 0, EDX, 23, None},
    {"fxsr", 1, 0, EDX, 24, None},
    {"sse", 1, 0, EDX, 25, None},
    {"sse2", 1, 0, EDX, 26, None},
    {"fsgsbase", 7, 0, EBX, 0, None},
    {"sgx", 7, 0, EBX, 2, None},
    {"bmi", 7, 0, EBX, 3, None},
    {"avx2", 7, 0, EBX, 5, AVX},
    {"bmi2", 7, 0, EBX, 8, None},
    {"ermsb", 7, 0, EBX, 9, None},
    {"invpcid", 7, 0, EBX, 10, None},
    {"rtm", 7, 0, EBX, 11, None},
    {"avx512f", 7, 0, EBX, 16, AVX512},
    {"evex512", 7, 0, EBX, 16, AVX512},
    {"avx512dq", 7, 0, EBX, 17, AVX512},
    {"rdseed", 7, 0, EBX, 18, None},
    {"adx", 7, 0, EBX, 19, None},
    {"avx512ifma", 7, 0, EBX, 21, AVX512},
    {"clflushopt", 7, 0, EBX, 23, None},
    {"clwb", 7, 0, EBX, 24, None},
    {"avx512cd", 7, 0, EBX, 28, AVX512},
    {"sha", 7, 0, EBX, 29, None},
    {"avx512bw", 7, 0, EBX, 30, AVX512},
    {"avx512vl", 7, 0, EBX, 31, AVX512},
    {"avx512vbmi", 7, 0, ECX, 1, AVX512},
    {"pku", 7, 0, ECX, 4, None},
    {"waitpkg", 7, 0, ECX, 5, None},
    {"avx512vbmi2", 7, 0, ECX, 6, AVX512},
    {"shstk", 7, 0, ECX, 7, None},
    {"gfni", 7, 0, ECX, 8, None},
    {"vaes", 7, 0, ECX, 9, AVX},
    {"vpclmulqdq", 7, 0, ECX, 10, AVX},
    {"avx512vnni", 7, 0, ECX, 11, AVX512},
    {"avx512bitalg", 7, 0, ECX, 12, AVX512},
    {"avx512vpopcntdq", 7, 0, ECX, 14, AVX512},
    {"rdpid", 7, 0, ECX, 22, None},
    {"kl", 7, 0, ECX, 23, None},
    {"cldemote", 7, 0, ECX, 25, None},
    {"movdiri", 7, 0, ECX, 27, None},
    {"movdir64b", 7, 0, ECX, 28, None},
    {"enqcmd", 7, 0, ECX, 29, None},
    {"fsrm", 7, 0, EDX, 4, None},
    {"uintr", 7, 0, EDX, 5, None},
    {"avx512vp2intersect", 7, 0, EDX, 8, AVX512},
    {"serialize", 7, 0, EDX, 14, None},
    {"tsxldtrk", 7, 0, EDX, 16, None},
    {"pconfig", 7, 0, EDX, 18, None},
    {"amx-bf16", 7, 0, EDX, 22, AMX},
    {"avx512fp16", 7, 0, EDX, 23, AVX512},
    {"amx-tile", 7, 0, EDX, 24, AMX},
    {"amx-int8", 7, 0, EDX, 25, AMX},
    {"sha512", 7, 1, EAX, 0, AVX},
    {"sm3", 7, 1, EAX, 1, AVX},
    {"sm4", 7, 1, EAX, 2, AVX},
    {"raoint", 7, 1, EAX, 3, None},
    {"avxvnni", 7, 1, EAX, 4, AVX},
    {"avx512bf16", 7, 1, EAX, 5, AVX512},
    {"cmpccxadd", 7, 1, EAX, 7, None},
    {"amx-fp16", 7, 1, EAX, 21, AMX},
    {"hreset", 7, 1, EAX, 22, None},
    {"avxifma", 7, 1, EAX, 23, AVX},
    {"movrs", 7, 1, EAX, 31, None},
    {"avxvnniint8", 7, 1, EDX, 4, AVX},
    {"avxneconvert", 7, 1, EDX, 5, AVX},
    {"amx-complex", 7, 1, EDX, 8, AMX},
    {"avxvnniint16", 7, 1, EDX, 10, AVX},
    {"prefetchi", 7, 1, EDX, 14, None},
    {"usermsr", 7, 1, EDX, 15, None},
    {"avx10.1", 7, 1, EDX, 19, AVX512},
    {"egpr", 7, 1, EDX, 21, APX},
    {"xsaveopt", 0xd, 1, EAX, 0, None},
    {"xsavec", 0xd, 1, EAX, 1, None},
    {"xsaves", 0xd, 1, EAX, 3, None},
    {"ptwrite", 0x14, 0, EBX, 4, None},
    {"widekl", 0x19, 0, EBX, 2, None},
    {"sahf", kExtended, 0, ECX, 0, None},
    {"lzcnt", kExtended, 0, ECX, 5, None},
    {"sse4a", kExtended, 0, ECX, 6, None},
    {"prfchw", kExtended, 0, ECX, 8, None},
    {"xop", kExtended, 0, ECX, 11, AVX},
    {"lwp", kExtended, 0, ECX, 15, None},
    {"fma4", kExtended, 0, ECX, 16, AVX},
    {"tbm", kExtended, 0, ECX, 21, None},
    {"mwaitx", kExtended, 0, ECX, 29, None},
    {"64bit", kExtended, 0, EDX, 29, None},
    {"clzero", kExtended8, 0, EBX, 0, None},
    {"rdpru", kExtended8, 0, EBX, 4, None},
    {"wbnoinvd", kExtended8, 0, EBX, 9, None},
};

uint64_t savedStates() {
  uint32_t r[4];
  constexpr uint32_t osxsave = 1u << 27;
  if (!__get_cpuid(1, &r[EAX], &r[EBX], &r[ECX], &r[EDX]) ||
      !(r[ECX] & osxsave))
    return 0;
  uint32_t low, high;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t(high) << 32 | low;
}

bool hasFeature(std::string_view name) {
  for (const Feature &feature : kFeatures) {
    if (feature.name != name)
      continue;
    uint32_t r[4];
    return __get_cpuid_count(feature.leaf, feature.subleaf, &r[EAX], &r[EBX],
                             &r[ECX], &r[EDX]) &&
           r[feature.reg] >> feature.bit & 1 &&
           (savedStates() & feature.state) == feature.state;
  }
  return false;
}

} // namespace
#else
static bool hasFeature(std::string_view) { return false; }
#endif

std::vector<std::string>
dsflash::missingCpuFeatures(std::string_view features) {
  std::vector<std::string> missing;
  while (!features.empty()) {
    size_t comma = features.find(',');
    std::string_view name = features.substr(0, comma);
    features.remove_prefix(comma == features.npos ? features.size()
                                                  : comma + 1);
    while (!name.empty() && name.front() == ' ')
      name.remove_prefix(1);
    if (name.empty() || name.front() == '-')
      continue;
    if (name.front() == '+')
      name.remove_prefix(1);
    if (!hasFeature(name))
      missing.emplace_back(name);
  }
  return missing;
}
