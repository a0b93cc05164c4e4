# find_package(attnbench VERSION REQUIRED) gives
#
# attnbench_add_mechanism(NAME FILE...)
#
# with the sources that mechanisms/NAME/ would have: program attnbench-NAME, which is
# attnbench with that mechanism, and, where PyTorch is the one that attnbench's operators
# were installed for, their library attnbench_torch-NAME. A version has to be the same to
# the last digit, as the interface of mechanisms changes with each.
@PACKAGE_INIT@
set(attnbench_includes @PACKAGE_INCLUDES@)
set(attnbench_objects @PACKAGE_OBJECTS@)
set(attnbench_data @PACKAGE_DATA@)
set(attnbench_data_from_program @data_from_program@)
set(attnbench_registry ${CMAKE_CURRENT_LIST_DIR}/registry.cc)
foreach(part dependencies compiler_flags targets add_mechanism)
  include(${CMAKE_CURRENT_LIST_DIR}/${part}.cmake)
endforeach()

# Times of a program that is not optimised would mean nothing.
get_property(is_multi_config GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
if(NOT CMAKE_BUILD_TYPE AND NOT is_multi_config)
  set(CMAKE_BUILD_TYPE Release)
endif()

function(attnbench_add_mechanism name)
  set(references ${ARGN})
  list(FILTER references INCLUDE REGEX "_reference\\.cc$")
  set_source_files_properties(${references} PROPERTIES COMPILE_OPTIONS -fno-tree-vectorize)
  set(objects attnbench-${name}-objects)
  add_library(${objects} OBJECT ${attnbench_registry} ${ARGN})
  target_compile_features(${objects} PUBLIC cxx_std_20)
  target_compile_options(${objects} PRIVATE -ffp-contract=off)
  target_link_libraries(${objects} PRIVATE attnbench::attnbench_mechanisms)
  attnbench_register(${objects} ${name})
  set_target_properties(${objects} PROPERTIES POSITION_INDEPENDENT_CODE ON
    CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)

  # A program finds experiments, schemas and Python from its own place.
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/bin)
  cmake_path(SET link NORMALIZE ${folder}/${attnbench_data_from_program})
  cmake_path(GET link PARENT_PATH parent)
  file(MAKE_DIRECTORY ${parent})
  file(CREATE_LINK ${attnbench_data} ${link} SYMBOLIC)
  add_executable(attnbench-${name}
    $<TARGET_OBJECTS:${objects}> $<TARGET_OBJECTS:attnbench::attnbench_main>)
  target_link_libraries(attnbench-${name} PRIVATE attnbench::attnbench_commands)
  set_target_properties(attnbench-${name} PROPERTIES
    LINKER_LANGUAGE CXX RUNTIME_OUTPUT_DIRECTORY ${folder})

  if(NOT TARGET attnbench::attnbench_torch_operators)
    return()
  endif()
  add_library(attnbench_torch-${name} SHARED
    $<TARGET_OBJECTS:${objects}> $<TARGET_OBJECTS:attnbench::attnbench_torch_operators>)
  target_link_libraries(attnbench_torch-${name} PRIVATE
    attnbench::attnbench_torch_operators attnbench::attnbench_mechanisms)
  target_link_options(attnbench_torch-${name} PRIVATE -Wl,--exclude-libs,ALL)
  set_target_properties(attnbench_torch-${name} PROPERTIES LINKER_LANGUAGE CXX)
endfunction()

# The operators are objects, which are there if they were built before the installation.
file(GLOB operators "${attnbench_objects}/objects-*/attnbench_torch_operators")
if(NOT operators)
  return()
endif()
find_package(Torch QUIET)
if(Torch_VERSION STREQUAL "@Torch_VERSION@")
  include(${CMAKE_CURRENT_LIST_DIR}/torch_targets.cmake)
else()
  message(STATUS "PyTorch @Torch_VERSION@, which attnbench's operators were built with, "
    "was not found: they are left out")
endif()
