# `cmake --install`: tools, headers, libraries and the package that find_package(dsflash)
# finds. Libraries register themselves through dsflash_install_library.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)
set(DSFLASH_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/dsflash)

# `part` is Runtime (no LLVM) or Compiler.
function(dsflash_install_library name part)
  install(TARGETS ${name} EXPORT dsflash${part}Targets
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
    INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  set_property(GLOBAL APPEND PROPERTY DSFLASH_PARTS ${part})
endfunction()

# To be called when all libraries are known.
function(dsflash_install_package)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/dsflash
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
    FILES_MATCHING PATTERN "*.h" PATTERN "*.td")
  if(DSFLASH_BUILD_COMPILER)
    install(DIRECTORY ${PROJECT_BINARY_DIR}/include/dsflash
      DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.inc")
  endif()
  get_property(parts GLOBAL PROPERTY DSFLASH_PARTS)
  list(REMOVE_DUPLICATES parts)
  foreach(part ${parts})
    install(EXPORT dsflash${part}Targets NAMESPACE dsflash::
      DESTINATION ${DSFLASH_PACKAGE_DIR})
  endforeach()
  configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/dsflashConfig.cmake.in
    ${PROJECT_BINARY_DIR}/dsflashConfig.cmake
    INSTALL_DESTINATION ${DSFLASH_PACKAGE_DIR}
    PATH_VARS CMAKE_INSTALL_BINDIR CMAKE_INSTALL_INCLUDEDIR)
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/dsflashConfigVersion.cmake
    COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/dsflashConfig.cmake
    ${PROJECT_BINARY_DIR}/dsflashConfigVersion.cmake
    ${PROJECT_SOURCE_DIR}/cmake/DSFlashPlugin.cmake
    DESTINATION ${DSFLASH_PACKAGE_DIR})
endfunction()
