# Component `development`: what a mechanism in a repository of its own is built with.
# It is installed only by name, as most users need none of it.
set(attnbench_package ${CMAKE_INSTALL_LIBDIR}/cmake/attnbench)
set(development COMPONENT development EXCLUDE_FROM_ALL)
get_property(rooms GLOBAL PROPERTY attnbench_rooms)
install(TARGETS attnbench_warnings attnbench_kernels attnbench_mechanisms attnbench_main
    ${rooms}
  EXPORT attnbench
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}/attnbench ${development}
  OBJECTS DESTINATION ${CMAKE_INSTALL_LIBDIR}/attnbench ${development})
install(EXPORT attnbench FILE targets.cmake NAMESPACE attnbench::
  DESTINATION ${attnbench_package} ${development})
if(ATTNBENCH_HAS_TORCH)
  install(TARGETS attnbench_torch_operators EXPORT attnbench_torch
    OBJECTS DESTINATION ${CMAKE_INSTALL_LIBDIR}/attnbench ${development} OPTIONAL)
  install(EXPORT attnbench_torch FILE torch_targets.cmake NAMESPACE attnbench::
    DESTINATION ${attnbench_package} ${development})
endif()
install(DIRECTORY mechanisms DESTINATION include/attnbench ${development}
  FILES_MATCHING PATTERN *.h
  PATTERN skeleton EXCLUDE PATTERN torch EXCLUDE)

include(CMakePackageConfigHelpers)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/package/attnbench-config-version.cmake
  COMPATIBILITY ExactVersion)
file(RELATIVE_PATH data_from_program
  ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_DATADIR}/attnbench)
set(INCLUDES include/attnbench)
set(DATA ${attnbench_share})
set(OBJECTS ${CMAKE_INSTALL_LIBDIR}/attnbench)
configure_package_config_file(cmake/attnbench-config.cmake
  ${CMAKE_BINARY_DIR}/package/attnbench-config.cmake
  INSTALL_DESTINATION ${attnbench_package} PATH_VARS INCLUDES DATA OBJECTS
  NO_CHECK_REQUIRED_COMPONENTS_MACRO)
install(FILES ${CMAKE_BINARY_DIR}/package/attnbench-config.cmake
    ${CMAKE_BINARY_DIR}/package/attnbench-config-version.cmake
    cmake/add_mechanism.cmake cmake/compiler_flags.cmake cmake/dependencies.cmake
    mechanisms/registry.cc
  DESTINATION ${attnbench_package} ${development})
