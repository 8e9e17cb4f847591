//===- Format.h - Text of tables --------------------------------*- C++ -*-===//

#ifndef DSFLASH_LIB_BENCH_FORMAT_H
#define DSFLASH_LIB_BENCH_FORMAT_H

#include <string>

namespace dsflash {

/// Appends what printf would print.
[[gnu::format(printf, 2, 3)]] void appendFormat(std::string &text,
                                                const char *format, ...);

} // namespace dsflash

#endif // DSFLASH_LIB_BENCH_FORMAT_H
