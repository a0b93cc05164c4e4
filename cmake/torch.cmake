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
# Wheels of PyTorch before 2.6 use the std::string of g++ before 5; a library must use
# the same one.
if(TORCH_CXX_FLAGS MATCHES "_GLIBCXX_USE_CXX11_ABI=0")
  message(STATUS "PyTorch has the C++ ABI of g++ before 5 (a wheel before 2.6): its operators are not built")
  return()
endif()
set(ATTNBENCH_HAS_TORCH TRUE)

# A C++ program takes these objects beside the mechanisms. They register the
# operators, which can be done once a process: it must not load the library, too.
add_library(attnbench_torch_operators OBJECT
  mechanisms/torch/additive_energies.cc
  mechanisms/torch/arguments.cc
  mechanisms/torch/banded_contexts.cc
  mechanisms/torch/banded_operators.cc
  mechanisms/torch/built_with.cc
  mechanisms/torch/memory_operators.cc
  mechanisms/torch/options.cc
  mechanisms/torch/pool.cc
  mechanisms/torch/registration.cc
  mechanisms/torch/scan_operators.cc)
target_link_libraries(attnbench_torch_operators
  PUBLIC attnbench_warnings OpenMP::OpenMP_CXX PkgConfig::OPENBLAS
    ${TORCH_LIBRARIES})

# PyTorch's headers take most of the time that each source takes. These have helpers of the
# same names as others.
if(ATTNBENCH_UNITY)
  set_target_properties(attnbench_torch_operators PROPERTIES
    UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
  set_source_files_properties(
    mechanisms/torch/banded_operators.cc
    mechanisms/torch/memory_operators.cc
    mechanisms/torch/scan_operators.cc
    PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  target_compile_options(attnbench_torch_operators PRIVATE -Wno-subobject-linkage)
endif()

set_source_files_properties(mechanisms/torch/built_with.cc PROPERTIES
  COMPILE_DEFINITIONS "ATTNBENCH_VERSION=\"${PROJECT_VERSION}\"")

# What Python loads shows nothing of the rest, so that it cannot meet another
# copy of it in one process.
add_library(attnbench_torch SHARED
  $<TARGET_OBJECTS:attnbench_torch_operators> $<TARGET_OBJECTS:attnbench_registry>)
set_target_properties(attnbench_torch PROPERTIES LINKER_LANGUAGE CXX)
target_link_libraries(attnbench_torch
  PRIVATE attnbench_mechanisms ${TORCH_LIBRARIES})
target_link_options(attnbench_torch PRIVATE -Wl,--exclude-libs,ALL)
attnbench_position_independent(attnbench_torch_operators attnbench_torch)
