# Arrow C++ from the pyarrow wheel, in .venv unless SMELT_PYARROW names another folder.
file(GLOB pyarrow_folders ${CMAKE_SOURCE_DIR}/.venv/lib/python3*/site-packages/pyarrow)
if(pyarrow_folders AND NOT IS_DIRECTORY "${SMELT_PYARROW}")
  unset(SMELT_PYARROW CACHE)  # found in an environment that no longer exists
endif()
set(SMELT_PYARROW "${pyarrow_folders}" CACHE PATH "the folder of the Python package pyarrow")
file(GLOB arrow_library ${SMELT_PYARROW}/libarrow.so.*)
file(GLOB parquet_library ${SMELT_PYARROW}/libparquet.so.*)
if(NOT arrow_library OR NOT parquet_library)
  message(FATAL_ERROR "no Arrow libraries in '${SMELT_PYARROW}'; scripts/build installs them, or set SMELT_PYARROW")
endif()
foreach(part arrow parquet)
  add_library(Arrow::${part} SHARED IMPORTED)
  set_target_properties(Arrow::${part} PROPERTIES IMPORTED_LOCATION ${${part}_library}
    INTERFACE_INCLUDE_DIRECTORIES ${SMELT_PYARROW}/include)
endforeach()
target_link_libraries(Arrow::parquet INTERFACE Arrow::arrow)
