//===- Chat.h - A conversation on standard input ----------------*- C++ -*-===//

#ifndef DSFLASH_TOOLS_DSFLASHRUN_CHAT_H
#define DSFLASH_TOOLS_DSFLASHRUN_CHAT_H

#include "Options.h"

#include "dsflash/Runtime/ModelRunner.h"

namespace dsflash::run {

/// Reads messages and commands line by line from standard input until its end
/// or /quit, and streams the replies to standard output. An interrupt ends a
/// reply and not the program. When standard input is no terminal, the first
/// message that cannot be answered ends the conversation with an error.
Status runChat(ModelRunner &runner, const Options &options);

} // namespace dsflash::run

#endif // DSFLASH_TOOLS_DSFLASHRUN_CHAT_H
