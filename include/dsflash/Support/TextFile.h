//===- TextFile.h - Writes a whole file ------------------------*- C++ -*-===//

#ifndef DSFLASH_SUPPORT_TEXTFILE_H
#define DSFLASH_SUPPORT_TEXTFILE_H

#include "dsflash/Support/Status.h"

#include <string>
#include <string_view>

namespace dsflash {

/// Writes beside `path`, then renames, so that no half-written file ever
/// carries the name.
Status writeTextFile(const std::string &path, std::string_view text);

} // namespace dsflash

#endif // DSFLASH_SUPPORT_TEXTFILE_H
