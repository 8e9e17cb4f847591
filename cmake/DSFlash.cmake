# Project macros. A runtime library links no LLVM; a compiler library sees MLIR
# through its shared library.

# Headers dominate compile time: of the C++ targets with the same flags the first
# precompiles include/dsflash/Support/HEADERS.h and more, the others take it from there.
function(dsflash_precompile_headers name flags headers)
  get_property(first GLOBAL PROPERTY DSFLASH_${flags}_${headers})
  if(first)
    target_precompile_headers(${name} REUSE_FROM ${first})
  else()
    set_property(GLOBAL PROPERTY DSFLASH_${flags}_${headers} ${name})
    target_precompile_headers(${name} PRIVATE
      ${PROJECT_SOURCE_DIR}/include/dsflash/Support/${headers}.h ${ARGN})
  endif()
endfunction()

function(dsflash_add_runtime_library name)
  cmake_parse_arguments(ARG "" "" "LINK_LIBS" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PUBLIC ${ARG_LINK_LIBS})
  target_compile_options(${name} PRIVATE -Wall -Wextra)
  dsflash_precompile_headers(${name} library RuntimeHeaders)
  dsflash_install_library(${name} Runtime)
endfunction()

function(dsflash_add_mlir_library name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;LINK_LIBS" ${ARGN})
  add_mlir_library(${name} ${ARG_UNPARSED_ARGUMENTS} DISABLE_INSTALL
                   EXCLUDE_FROM_LIBMLIR DEPENDS ${ARG_DEPENDS} DSFlashHeaders
                   LINK_LIBS PUBLIC ${ARG_LINK_LIBS})
  mlir_target_link_libraries(${name} PUBLIC MLIRIR)
  dsflash_precompile_headers(${name} library MLIRHeaders)
  dsflash_install_library(${name} Compiler)
endfunction()

function(dsflash_add_tool name)
  cmake_parse_arguments(ARG "" "HEADERS" "LINK_LIBS" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE ${ARG_LINK_LIBS})
  if(ARG_HEADERS)
    dsflash_precompile_headers(${name} tool ${ARG_HEADERS})
  endif()
  install(TARGETS ${name})
endfunction()

function(dsflash_add_unittest name)
  cmake_parse_arguments(ARG "" "HEADERS" "LINK_LIBS" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  if(ARG_HEADERS)
    dsflash_precompile_headers(${name} test ${ARG_HEADERS} <gtest/gtest.h>)
  endif()
  target_link_libraries(${name} PRIVATE ${ARG_LINK_LIBS} GTest::gtest_main)
  set_target_properties(${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/unittests)
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES
    ENVIRONMENT XDG_CACHE_HOME=${PROJECT_BINARY_DIR}/unittests/cache)
endfunction()
