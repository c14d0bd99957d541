# cmake --install: installs bin/smelt and, in lib/smelt, the libraries that are no packages of the system: Arrow's
# libraries and the CPU plugin, with the paths of site-packages. The folder can be moved, because the program finds them
# by its own path.
set(SMELT_LIBRARIES lib/smelt)  # find_plugin.cpp searches there
set_target_properties(smelt PROPERTIES INSTALL_RPATH "$ORIGIN/../${SMELT_LIBRARIES}")
target_link_options(smelt PRIVATE -Wl,--disable-new-dtags)  # the rpath also applies to what the libraries need
install(TARGETS smelt RUNTIME DESTINATION bin)
install(FILES ${CMAKE_SOURCE_DIR}/include/smelt.h DESTINATION include)
if(TARGET smelt_shared)
  set_target_properties(smelt_shared PROPERTIES INSTALL_RPATH "$ORIGIN")
  install(TARGETS smelt_shared LIBRARY DESTINATION ${SMELT_LIBRARIES})
endif()
file(GLOB arrow_s3_library ${SMELT_PYARROW}/libarrow_s3.so.*)
install(FILES ${arrow_library} ${parquet_library} ${arrow_s3_library} DESTINATION ${SMELT_LIBRARIES})
file(GLOB cpu_plugin ${CMAKE_SOURCE_DIR}/.venv/lib/python3*/site-packages/xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so)
if(cpu_plugin)
  list(GET cpu_plugin -1 cpu_plugin)
  install(FILES ${cpu_plugin} DESTINATION ${SMELT_LIBRARIES}/xla_plugins/xla_cpu_pjrt)
else()
  install(CODE "message(WARNING \"no CPU plugin in .venv to install; scripts/build puts it there\")")
endif()
