# SPDX-License-Identifier: Apache-2.0
# rh_add_comm_backend(ucx ucx.c … [LINK …]): one backend of rh_comm, librhcomm_ucx.so, beside the library. It links
# nothing of rh_comm. What it wraps starts threads and hooks of its own, so it is never unloaded.
function(rh_add_comm_backend name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  add_library(rhcomm_${name} MODULE ${ARG_UNPARSED_ARGUMENTS})
  set_target_properties(rhcomm_${name} PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${RH_COMM_OUTPUT_DIR}")
  target_include_directories(rhcomm_${name} PRIVATE "${PROJECT_SOURCE_DIR}")
  target_link_libraries(rhcomm_${name} PRIVATE rh_flags ${ARG_LINK} ${CMAKE_DL_LIBS})
  target_link_options(rhcomm_${name} PRIVATE -Wl,-z,nodelete)
  if(NOT (CMAKE_C_COMPILER_ID STREQUAL "Clang" AND RH_INSTRUMENTED))
    target_link_options(rhcomm_${name} PRIVATE -Wl,--no-undefined)
  endif()
  install(TARGETS rhcomm_${name} LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endfunction()
