# attnbench_register(TARGET NAME...) puts further mechanisms into the registry of a
# target that compiles mechanisms/registry.cc.
function(attnbench_register target)
  list(TRANSFORM ARGN REPLACE "(.+)" "MECHANISM(\\1)")
  list(JOIN ARGN " " further)
  target_compile_options(${target} PRIVATE
    "-DATTNBENCH_FURTHER_MECHANISMS(MECHANISM)=${further}")
endfunction()
