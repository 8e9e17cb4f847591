# Builds of the runtime that look for faults: sanitizers, and fuzzers on top.
set(DSFLASH_SANITIZE "" CACHE STRING
  "Sanitizers, comma separated (address,undefined or thread)")
set(DSFLASH_COMPILER "" CACHE FILEPATH
  "dsflash-compile of another build, with which one without tests the goldens")
option(DSFLASH_BUILD_FUZZERS "Build the fuzzers (needs clang)" OFF)

if(DSFLASH_SANITIZE)
  if(DSFLASH_BUILD_COMPILER)
    message(FATAL_ERROR "DSFLASH_SANITIZE builds the runtime alone: "
                        "add -DDSFLASH_BUILD_COMPILER=OFF")
  endif()
  add_compile_options(-fsanitize=${DSFLASH_SANITIZE} -fno-sanitize-recover=all
                      -fno-omit-frame-pointer -g1)
  add_link_options(-fsanitize=${DSFLASH_SANITIZE})
endif()
if(DSFLASH_BUILD_FUZZERS)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
