# Compiles the lock files that `smelt setup` uses into the program.
foreach(name gpu.lock tpu.lock wheel_sizes.txt)
  string(REGEX REPLACE "[.]txt$" "" variable ${name})
  string(REPLACE "." "_" variable ${variable})
  file(READ ${CMAKE_SOURCE_DIR}/requirements/${name} ${variable})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/requirements/${name})
endforeach()
configure_file(${CMAKE_SOURCE_DIR}/src/pjrt/plugin_locks.cpp.in ${CMAKE_BINARY_DIR}/plugin_locks.cpp @ONLY)
target_sources(smelt_pjrt PRIVATE ${CMAKE_BINARY_DIR}/plugin_locks.cpp)
