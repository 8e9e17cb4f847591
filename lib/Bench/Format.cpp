//===- Format.cpp - Text of tables ----------------------------------------===//

#include "Format.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>

void dsflash::appendFormat(std::string &text, const char *format, ...) {
  va_list values;
  va_start(values, format);
  char *printed = nullptr;
  int length = vasprintf(&printed, format, values);
  va_end(values);
  if (length < 0)
    return;
  text.append(printed, size_t(length));
  std::free(printed);
}
