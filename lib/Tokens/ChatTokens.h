//===- ChatTokens.h - Tokens of the chat layout by their text ---*- C++ -*-===//

#ifndef DSFLASH_LIB_TOKENS_CHATTOKENS_H
#define DSFLASH_LIB_TOKENS_CHATTOKENS_H

namespace dsflash {

constexpr const char *kBos = "<｜begin▁of▁sentence｜>";
constexpr const char *kEos = "<｜end▁of▁sentence｜>";
constexpr const char *kSystem = "<｜System｜>";
constexpr const char *kUser = "<｜User｜>";
constexpr const char *kAssistant = "<｜Assistant｜>";
constexpr const char *kThink = "<think>";
constexpr const char *kEndThink = "</think>";
constexpr const char *kDsml = "｜DSML｜";
constexpr const char *kLatestReminder = "<｜latest_reminder｜>";
constexpr const char *kImage = "<｜deepseek_image｜>";

} // namespace dsflash

#endif // DSFLASH_LIB_TOKENS_CHATTOKENS_H
