# libsmelt.so: the C interface of include/smelt.h. It exports only the functions of that header. It must not link
# jemalloc, which a running program cannot load (its thread-local storage is static), so it has no module that uses PJRT.
target_include_directories(smelt_c_api PUBLIC ${CMAKE_SOURCE_DIR}/include)
target_compile_definitions(smelt_c_api PRIVATE SMELT_VERSION="${PROJECT_VERSION}")
target_compile_options(smelt_c_api PRIVATE -fvisibility=hidden)
if(NOT SMELT_SANITIZE)  # a program that is not sanitized could not load it
  add_library(smelt_shared SHARED $<TARGET_OBJECTS:smelt_c_api>)
  target_link_libraries(smelt_shared PRIVATE smelt_data_input_pipeline)
  set_target_properties(smelt_shared PROPERTIES OUTPUT_NAME smelt LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}
                        LINKER_LANGUAGE CXX LINK_DEPENDS ${CMAKE_SOURCE_DIR}/cmake/exported.map)
  target_link_options(smelt_shared PRIVATE -Wl,--version-script=${CMAKE_SOURCE_DIR}/cmake/exported.map
                      -Wl,--disable-new-dtags -Wl,--no-undefined -Wl,--as-needed)
  add_dependencies(smelt smelt_shared)  # they are packaged together
endif()
