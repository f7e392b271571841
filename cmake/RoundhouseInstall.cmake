# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` puts where. Targets install themselves in their own CMakeLists.txt.
include(CMakePackageConfigHelpers)

set(RH_CMAKE_DIR "${CMAKE_INSTALL_LIBDIR}/cmake/roundhouse")

install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/roundhouse" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
        FILES_MATCHING PATTERN "*.h")
install(FILES "${PROJECT_BINARY_DIR}/include/roundhouse/version.h"
        DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/roundhouse")
install(FILES "${PROJECT_SOURCE_DIR}/conf/roundhouse.ini" DESTINATION "${CMAKE_INSTALL_SYSCONFDIR}/roundhouse")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" "${PROJECT_SOURCE_DIR}/NOTICE" "${PROJECT_SOURCE_DIR}/README.md"
        DESTINATION "${CMAKE_INSTALL_DOCDIR}")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/examples" DESTINATION "${CMAKE_INSTALL_DOCDIR}" USE_SOURCE_PERMISSIONS
        PATTERN "__pycache__" EXCLUDE)

# The program knows its commands and options best, so it writes its manual page and completion itself.
if(TARGET roundhouse)
  set(man "${PROJECT_BINARY_DIR}/share/man/man1/roundhouse.1")
  set(completion "${PROJECT_BINARY_DIR}/share/bash-completion/completions/roundhouse")
  file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/share/man/man1" "${PROJECT_BINARY_DIR}/share/bash-completion/completions")
  add_custom_command(OUTPUT "${man}" "${completion}"
    COMMAND roundhouse man > "${man}"
    COMMAND roundhouse completion bash > "${completion}"
    DEPENDS roundhouse VERBATIM)
  add_custom_target(rh_pages ALL DEPENDS "${man}" "${completion}")
  install(FILES "${man}" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1")
  install(FILES "${completion}" DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions")
endif()
install(DIRECTORY "${PROJECT_SOURCE_DIR}/conf/" DESTINATION "${CMAKE_INSTALL_DATADIR}/roundhouse"
        PATTERN "roundhouse.ini" EXCLUDE
        PATTERN "deploy/manifests.yaml" EXCLUDE)

# Both descriptions for authors of plugins say where things are relative to themselves: an installation can be moved.
file(RELATIVE_PATH RH_PC_TO_PREFIX "/p/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/p")
configure_file(cmake/roundhouse-plugin.pc.in roundhouse-plugin.pc @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/roundhouse-plugin.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")

configure_package_config_file(cmake/roundhouse-config.cmake.in "${PROJECT_BINARY_DIR}/roundhouse-config.cmake"
  INSTALL_DESTINATION "${RH_CMAKE_DIR}"
  PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_BINDIR RH_PLUGIN_SUBDIR)
# the plugin ABI only grows, so what an older release offered to plugins a newer one does, too
write_basic_package_version_file("${PROJECT_BINARY_DIR}/roundhouse-config-version.cmake"
  COMPATIBILITY AnyNewerVersion ARCH_INDEPENDENT)
install(FILES "${PROJECT_BINARY_DIR}/roundhouse-config.cmake" "${PROJECT_BINARY_DIR}/roundhouse-config-version.cmake"
        DESTINATION "${RH_CMAKE_DIR}")
