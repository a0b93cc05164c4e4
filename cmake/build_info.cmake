# The target attnbench_build_info writes generated/CONFIG/build_info.h, a header that
# says what the program is built from. It is run on every build, because the commit
# and the state of the working tree change without CMake being configured again. The
# header is written only where something changed, so that nothing is compiled without
# need. Included, this file makes the target; as a script (-P) it writes the header.
if(NOT CMAKE_SCRIPT_MODE_FILE)
  # The flags are those of the objects of the kernels.
  set(objects attnbench_kernels.dir)
  get_property(is_multi_config GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
  if(is_multi_config)
    string(APPEND objects /$<CONFIG>)
  endif()
  set(build_info_folder ${CMAKE_BINARY_DIR}/generated/$<CONFIG>)
  add_custom_target(attnbench_build_info
    COMMAND ${CMAKE_COMMAND} -DSOURCE_DIR=${PROJECT_SOURCE_DIR}
      -DOUTPUT=${build_info_folder}/build_info.h
      -DCOMMANDS=${CMAKE_BINARY_DIR}/compile_commands.json
      -DOBJECTS=${objects}
      -DCOMPILER=${CMAKE_CXX_COMPILER}
      -DBUILD_TYPE=$<CONFIG>
      -DVERSION=${PROJECT_VERSION}
      "-DLIBRARIES=eigen=${Eigen3_VERSION} highway=${hwy_VERSION} openblas=${OPENBLAS_VERSION} benchmark=${benchmark_VERSION} json=${nlohmann_json_VERSION} cli11=${CLI11_VERSION} fmt=${fmt_VERSION} boost=${Boost_VERSION} hwloc=${HWLOC_VERSION}"
      -P ${CMAKE_CURRENT_LIST_FILE}
    BYPRODUCTS ${build_info_folder}/build_info.h
    VERBATIM)
  return()
endif()

execute_process(COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/commit.sh ${SOURCE_DIR}
  OUTPUT_VARIABLE state ERROR_VARIABLE reason)
set(commit unknown)
set(dirty unknown)
if(state MATCHES "^([0-9a-z]+) ([a-z]+)\n$")
  set(commit ${CMAKE_MATCH_1})
  set(dirty ${CMAKE_MATCH_2})
endif()
if(reason)
  string(STRIP "${reason}" reason)
  message("The commit is ${commit}, edited since: ${dirty}. ${reason}")
endif()

# Only the command that compiles has all flags: CMake adds some by itself. Warnings
# and colours change no program; names of files and folders are of one machine.
file(READ ${COMMANDS} commands)
if(NOT commands MATCHES "\"command\": (\"[^\n]* -o [^ \n]*/${OBJECTS}/[^\n]*\"),\n")
  message(FATAL_ERROR "${COMMANDS}: has no object of ${OBJECTS}")
endif()
string(JSON command GET "[${CMAKE_MATCH_1}]" 0)
separate_arguments(words UNIX_COMMAND "${command}")
set(flags "")
set(is_after_compiler FALSE)  # a launcher may precede it
set(is_path FALSE)
foreach(word IN LISTS words)
  if(NOT is_after_compiler)
    string(COMPARE EQUAL "${word}" "${COMPILER}" is_after_compiler)
  elseif(is_path)
    set(is_path FALSE)
  elseif(word MATCHES "^-(o|c|isystem)$")
    set(is_path TRUE)
  elseif(word MATCHES "[ ;]")
    string(APPEND flags " \"${word}\"")
  elseif(NOT word MATCHES "^(-I|-W[^alp]|-W[alp][^,]|-fdiagnostics-|-DCMAKE_INTDIR=)")
    string(APPEND flags " ${word}")
  endif()
endforeach()
string(STRIP "${flags}" flags)

# A version that CMake could not tell is left out between "=" and the next name.
string(REGEX REPLACE "=( |$)" "=unknown\\1" LIBRARIES "${LIBRARIES}")
string(REGEX REPLACE "([^ =]+)=([^ ]+) *" "{\"\\1\", \"\\2\"}, "
  libraries "${LIBRARIES}")
# Quoted, so that flags with quotation marks or backslashes stay one text.
set(text "// Made by cmake/build_info.cmake on every build.
#define ATTNBENCH_VERSION \"${VERSION}\"
#define ATTNBENCH_COMMIT \"${commit}\"
#define ATTNBENCH_DIRTY \"${dirty}\"
#define ATTNBENCH_FLAGS R\"flags(${flags})flags\"
#define ATTNBENCH_BUILD_TYPE \"${BUILD_TYPE}\"
#define ATTNBENCH_LIBRARIES ${libraries}
")
set(old "")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} old)
endif()
if(NOT old STREQUAL text)
  file(WRITE ${OUTPUT} "${text}")
endif()
