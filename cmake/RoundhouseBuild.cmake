# SPDX-License-Identifier: Apache-2.0
# Where things are built, what they need, and the functions that add a library, a plugin or a test.
include(GNUInstallDirs)
include(RoundhouseFlags)

# The build tree has the layout of an installation, so that the program finds plugins and data the same way in both.
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
set(RH_PLUGIN_SUBDIR "lib/roundhouse/plugins")
set(RH_DATA_SUBDIR "share/roundhouse")
set(RH_PLUGIN_OUTPUT_DIR "${PROJECT_BINARY_DIR}/${RH_PLUGIN_SUBDIR}")
set(RH_DATA_OUTPUT_DIR "${PROJECT_BINARY_DIR}/${RH_DATA_SUBDIR}")

find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
pkg_check_modules(YAML REQUIRED IMPORTED_TARGET yaml-0.1)
pkg_check_modules(INIH REQUIRED IMPORTED_TARGET inih)
pkg_check_modules(CJSON REQUIRED IMPORTED_TARGET libcjson)
pkg_check_modules(UV REQUIRED IMPORTED_TARGET libuv)
pkg_check_modules(CRYPTO REQUIRED IMPORTED_TARGET libcrypto>=3.0)
pkg_check_modules(CURL REQUIRED IMPORTED_TARGET libcurl>=7.85)

configure_file("${PROJECT_SOURCE_DIR}/include/roundhouse/version.h.in"
               "${PROJECT_BINARY_DIR}/include/roundhouse/version.h" @ONLY)

# One layer of the core: rh_add_layer(job SOURCES job.c … LINK rh_base)
function(rh_add_layer name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK;PRIVATE_LINK" ${ARGN})
  add_library(rh_${name} STATIC ${ARG_SOURCES})
  target_include_directories(rh_${name} PUBLIC "${PROJECT_SOURCE_DIR}/core")
  target_link_libraries(rh_${name} PUBLIC rh_flags ${ARG_LINK} PRIVATE ${ARG_PRIVATE_LINK})
endfunction()

# Embed the JSON file STEM.json of the current folder into plugin NAME as the string NAME_STEM.
function(rh_embed_plugin_text name file)
  get_filename_component(stem "${file}" NAME_WE)
  set(input "${CMAKE_CURRENT_SOURCE_DIR}/${file}")
  set(output "${CMAKE_CURRENT_BINARY_DIR}/${name}_${stem}.c")
  set(template "${PROJECT_SOURCE_DIR}/plugins/text.c.in")
  add_custom_command(
    OUTPUT "${output}"
    COMMAND ${CMAKE_COMMAND} -DINPUT=${input} -DTEMPLATE=${template} -DOUTPUT=${output} -DRH_SYMBOL=${name}_${stem}
            -P ${PROJECT_SOURCE_DIR}/cmake/EmbedText.cmake
    DEPENDS "${input}" "${template}" "${PROJECT_SOURCE_DIR}/cmake/EmbedText.cmake")
  target_sources(rh_plugin_${name} PRIVATE "${output}")
endfunction()

# A plugin: one shared object that links nothing of the core. rh_add_plugin(pytorch pytorch.c … TEXTS schema.json …)
function(rh_add_plugin name)
  cmake_parse_arguments(ARG "" "" "TEXTS" ${ARGN})
  add_library(rh_plugin_${name} MODULE ${ARG_UNPARSED_ARGUMENTS})
  foreach(file IN LISTS ARG_TEXTS)
    rh_embed_plugin_text(${name} ${file})
  endforeach()
  set_target_properties(rh_plugin_${name} PROPERTIES
    PREFIX "" OUTPUT_NAME ${name} LIBRARY_OUTPUT_DIRECTORY "${RH_PLUGIN_OUTPUT_DIR}")
  target_link_libraries(rh_plugin_${name} PRIVATE rh_flags)
  # clang leaves the sanitizer's functions to the program that loads the plugin
  if(NOT (CMAKE_C_COMPILER_ID STREQUAL "Clang" AND RH_INSTRUMENTED))
    target_link_options(rh_plugin_${name} PRIVATE -Wl,--no-undefined)
  endif()
  install(TARGETS rh_plugin_${name} LIBRARY DESTINATION "${RH_PLUGIN_SUBDIR}")
endfunction()

# A cmocka test program; its name is its path below tests/. It understands --list and --case NAME (tests/runner.c).
# rh_add_test(base/json LINK rh_base [SOURCES more.c] [LABELS slow threads] [ARGS …])
function(rh_add_test path)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK;LABELS;ARGS" ${ARGN})
  string(REPLACE "/" "_" target "test_${path}")
  get_filename_component(file "${path}" NAME)
  get_filename_component(folder "${path}" DIRECTORY)
  add_executable(${target} "${PROJECT_SOURCE_DIR}/tests/${folder}/test_${file}.c" ${ARG_SOURCES})
  target_link_libraries(${target} PRIVATE rh_flags ${ARG_LINK} rh_test_runner PkgConfig::CMOCKA)
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/tests")
  target_compile_definitions(${target} PRIVATE
    RH_GOLDENS="${PROJECT_SOURCE_DIR}/tests/goldens" RH_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
    RH_BUILD_DIR="${PROJECT_BINARY_DIR}" RH_PLUGIN_DIR="${RH_PLUGIN_OUTPUT_DIR}")
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
  add_test(NAME ${path} COMMAND ${target} ${ARG_ARGS})
  set_tests_properties(${path} PROPERTIES TIMEOUT 900 LABELS "${ARG_LABELS}")
endfunction()
