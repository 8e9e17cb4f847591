//===- RuntimeHeaders.h - Precompiled for the runtime ----------*- C++ -*-===//

#ifndef DSFLASH_SUPPORT_RUNTIMEHEADERS_H
#define DSFLASH_SUPPORT_RUNTIMEHEADERS_H

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#endif // DSFLASH_SUPPORT_RUNTIMEHEADERS_H
