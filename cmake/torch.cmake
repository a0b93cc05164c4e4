# The operators of mechanisms/torch, where PyTorch is installed. clang 14 rejects
# the headers of PyTorch 1.13 in C++20.
set(ATTNBENCH_HAS_TORCH FALSE)
if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  return()
endif()
find_package(Torch QUIET)
if(NOT Torch_FOUND)
  message(STATUS "PyTorch was not found: its operators are not built")
  return()
endif()
set(ATTNBENCH_HAS_TORCH TRUE)
separate_arguments(torch_flags UNIX_COMMAND "${TORCH_CXX_FLAGS}")

# A shared library needs position independent code. The mechanisms that are
# measured do without it, so these are compiled once more.
function(attnbench_position_independent)
  foreach(name IN LISTS ARGN)
    set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_compile_options(${name} PRIVATE ${torch_flags})
  endforeach()
endfunction()
attnbench_published(attnbench_published_pic_O0 O0)
attnbench_published(attnbench_published_pic_O3 O3)
add_library(attnbench_mechanisms_pic STATIC
  ${kernel_sources} ${mechanism_sources} mechanisms/registry.cc
  $<TARGET_OBJECTS:attnbench_published_pic_O0>
  $<TARGET_OBJECTS:attnbench_published_pic_O3>)
target_include_directories(attnbench_mechanisms_pic
  SYSTEM PRIVATE ${RANDOM123_INCLUDE_DIR})
target_compile_definitions(attnbench_mechanisms_pic PRIVATE EIGEN_USE_BLAS)
target_link_libraries(attnbench_mechanisms_pic
  PUBLIC attnbench_warnings
  PRIVATE hwy::hwy Boost::headers Eigen3::Eigen OpenMP::OpenMP_CXX
    PkgConfig::OPENBLAS)

# A C++ program takes these objects beside the mechanisms. They register the
# operators, which can be done once a process: it must not load the library, too.
add_library(attnbench_torch_operators OBJECT
  mechanisms/torch/additive_energies.cc
  mechanisms/torch/arguments.cc
  mechanisms/torch/built_with.cc
  mechanisms/torch/memory_operators.cc
  mechanisms/torch/options.cc
  mechanisms/torch/registration.cc
  mechanisms/torch/scan_operators.cc)
target_link_libraries(attnbench_torch_operators
  PUBLIC attnbench_warnings OpenMP::OpenMP_CXX PkgConfig::OPENBLAS
    ${TORCH_LIBRARIES})

set_source_files_properties(mechanisms/torch/built_with.cc PROPERTIES
  COMPILE_DEFINITIONS "ATTNBENCH_VERSION=\"${PROJECT_VERSION}\"")

# What Python loads shows nothing of the rest, so that it cannot meet another
# copy of it in one process.
add_library(attnbench_torch SHARED $<TARGET_OBJECTS:attnbench_torch_operators>)
set_target_properties(attnbench_torch PROPERTIES LINKER_LANGUAGE CXX)
target_link_libraries(attnbench_torch
  PRIVATE attnbench_mechanisms_pic ${TORCH_LIBRARIES})
target_link_options(attnbench_torch PRIVATE -Wl,--exclude-libs,ALL)
attnbench_position_independent(attnbench_published_pic_O0
  attnbench_published_pic_O3 attnbench_mechanisms_pic attnbench_torch_operators
  attnbench_torch)
set_target_properties(attnbench_torch attnbench_torch_operators PROPERTIES
  CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
