//===- Counting.h - Requests, sectors and banks -----------------*- C++ -*-===//
//
// Lanes run one by one, so a request of a warp is put together: the n-th time
// that each of its lanes comes to an instruction is one request.
//
//===----------------------------------------------------------------------===//

#ifndef DSFLASH_SIMT_COUNTING_H
#define DSFLASH_SIMT_COUNTING_H

#include "Context.h"
#include "Shadow.h"

#include <array>
#include <unordered_map>

namespace dsflash::simt {

class CounterState {
public:
  explicit CounterState(Counters &counters) : counters(counters) {}

  void globalAccess(const ThreadContext &who, uint32_t site, Access kind,
                    uint64_t address, unsigned bytes);
  void sharedAccess(const ThreadContext &who, uint32_t site, uint64_t offset,
                    unsigned bytes);
  /// Notes bytes of a word as touched in this launch.
  void uniqueBytes(ShadowWord &word, Access kind, uint8_t mask);
  /// Adds up the requests of the block.
  void finishBlock();
  /// Adds instructions from the times that each basic block ran.
  void finishLaunch(const KernelCodeInfo &info,
                    const std::vector<uint64_t> &executed);

private:
  struct Request {
    std::array<uint64_t, kWarpSize> addresses;
    uint32_t lanes = 0;
    unsigned bytes = 0;
  };
  /// The requests of one warp at one instruction, and how many of them each
  /// lane has made.
  struct Stream {
    std::vector<Request> requests;
    std::array<uint32_t, kWarpSize> made = {};
  };
  using Streams = std::unordered_map<uint64_t, Stream>;

  void add(Streams &streams, const ThreadContext &who, uint32_t site,
           uint64_t address, unsigned bytes);
  void countGlobal(const Request &request);
  void countShared(const Request &request);

  Counters &counters;
  Streams global, shared; ///< by warp and site
};

} // namespace dsflash::simt

#endif // DSFLASH_SIMT_COUNTING_H
