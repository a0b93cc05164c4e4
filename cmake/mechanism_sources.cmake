# The registry is the list of mechanisms, here too: mechanism_sources and
# reference_sources are the files of those that it names.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
  ${PROJECT_SOURCE_DIR}/mechanisms/registry.cc)
file(READ mechanisms/registry.cc registry)
string(REGEX MATCHALL "MECHANISM\\([a-z0-9_]+\\)" registered "${registry}")
set(mechanism_sources)
set(reference_sources)
foreach(entry IN LISTS registered)
  string(REGEX REPLACE "MECHANISM\\((.*)\\)" "\\1" name "${entry}")
  list(APPEND mechanism_sources mechanisms/${name}/${name}.cc)
  list(APPEND reference_sources mechanisms/${name}/${name}_reference.cc)
  foreach(file ${name}.cc ${name}_reference.cc)
    if(NOT EXISTS ${PROJECT_SOURCE_DIR}/mechanisms/${name}/${file})
      message(FATAL_ERROR "mechanisms/registry.cc lists ${name}, but "
        "mechanisms/${name}/${file} is missing: was the copied file renamed?")
    endif()
  endforeach()
endforeach()
