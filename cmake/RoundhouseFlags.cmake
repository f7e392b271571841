# SPDX-License-Identifier: Apache-2.0
# Compiler and linker flags of everything in this tree, as the interface library rh_flags.
set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS ON)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

include(CheckPIESupported)
check_pie_supported(LANGUAGES C)

# Instrumented builds bring symbols and libraries of their own, so tests of what a plugin links skip them.
string(REGEX MATCH "-fsanitize|--coverage" RH_INSTRUMENTED "${CMAKE_C_FLAGS}")

find_program(RH_CCACHE ccache)
if(RH_CCACHE AND NOT CMAKE_C_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER "${RH_CCACHE}")
endif()

add_library(rh_flags INTERFACE)
target_compile_definitions(rh_flags INTERFACE _GNU_SOURCE)
target_compile_options(rh_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wformat=2 -Wvla -Wundef
  -Wswitch-enum -Wpointer-arith -Wwrite-strings -Wimplicit-fallthrough
  $<$<BOOL:${RH_WERROR}>:-Werror>
  -fstack-protector-strong -fstack-clash-protection -fno-common
  # clang does not count a cleanup attribute as use
  $<$<C_COMPILER_ID:Clang>:-Wno-gnu-statement-expression$<SEMICOLON>-Wno-unused-variable>)
# Some distributions' compilers define _FORTIFY_SOURCE themselves; an unoptimised build must not have it at all.
if(NOT RH_INSTRUMENTED)
  target_compile_options(rh_flags INTERFACE
    $<$<CONFIG:Release,RelWithDebInfo,MinSizeRel>:-U_FORTIFY_SOURCE$<SEMICOLON>-D_FORTIFY_SOURCE=3>)
endif()
target_link_options(rh_flags INTERFACE -Wl,-z,relro,-z,now -Wl,-z,noexecstack)
target_include_directories(rh_flags INTERFACE "${PROJECT_SOURCE_DIR}/include" "${PROJECT_BINARY_DIR}/include")
