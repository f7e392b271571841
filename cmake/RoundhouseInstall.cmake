# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` puts where. Targets install themselves in their own CMakeLists.txt.
include(CMakePackageConfigHelpers)

set(RH_CMAKE_DIR "${CMAKE_INSTALL_LIBDIR}/cmake/roundhouse")

install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/roundhouse" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
        FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(FILES "${PROJECT_BINARY_DIR}/include/roundhouse/version.h"
        DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/roundhouse")
# What somebody has set stays at the next installation; every setting is shown in the copy below share/roundhouse.
if(IS_ABSOLUTE "${CMAKE_INSTALL_SYSCONFDIR}")
  set(sysconf "${CMAKE_INSTALL_SYSCONFDIR}")
else()
  set(sysconf "\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_SYSCONFDIR}")
endif()
install(CODE "
  if(EXISTS \"\$ENV{DESTDIR}${sysconf}/roundhouse/roundhouse.ini\")
    message(STATUS \"Kept: ${sysconf}/roundhouse/roundhouse.ini\")
  else()
    file(INSTALL \"${PROJECT_SOURCE_DIR}/conf/roundhouse.ini\" DESTINATION \"${sysconf}/roundhouse\")
  endif()")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" "${PROJECT_SOURCE_DIR}/NOTICE" "${PROJECT_SOURCE_DIR}/README.md"
        DESTINATION "${CMAKE_INSTALL_DOCDIR}")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/docs" DESTINATION "${CMAKE_INSTALL_DOCDIR}" FILES_MATCHING PATTERN "*.md"
        PATTERN "recordings" EXCLUDE)
install(FILES "${PROJECT_SOURCE_DIR}/plugins/README.md" DESTINATION "${CMAKE_INSTALL_DOCDIR}/plugins")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/examples" DESTINATION "${CMAKE_INSTALL_DOCDIR}" USE_SOURCE_PERMISSIONS
        PATTERN "__pycache__" EXCLUDE)

# The program knows its commands and options best, so it writes its manual page and completion itself.
if(TARGET roundhouse)
  set(share "${PROJECT_BINARY_DIR}/share")
  set(man "${share}/man/man1/roundhouse.1")
  set(bash "${share}/bash-completion/completions/roundhouse")
  set(zsh "${share}/zsh/site-functions/_roundhouse")
  set(fish "${share}/fish/vendor_completions.d/roundhouse.fish")
  foreach(page IN ITEMS "${man}" "${bash}" "${zsh}" "${fish}")
    get_filename_component(folder "${page}" DIRECTORY)
    file(MAKE_DIRECTORY "${folder}")
  endforeach()
  add_custom_command(OUTPUT "${man}" "${bash}" "${zsh}" "${fish}"
    COMMAND roundhouse man > "${man}"
    COMMAND roundhouse completion bash > "${bash}"
    COMMAND roundhouse completion zsh > "${zsh}"
    COMMAND roundhouse completion fish > "${fish}"
    DEPENDS roundhouse VERBATIM)
  add_custom_target(rh_pages ALL DEPENDS "${man}" "${bash}" "${zsh}" "${fish}")
  install(FILES "${man}" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1")
  install(FILES "${bash}" DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions")
  install(FILES "${zsh}" DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/site-functions")
  install(FILES "${fish}" DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d")
endif()
install(DIRECTORY "${PROJECT_SOURCE_DIR}/conf/" DESTINATION "${CMAKE_INSTALL_DATADIR}/roundhouse"
        PATTERN "deploy/manifests.yaml" EXCLUDE)

# For authors of plugins: what the linker is to export, and the crate for Rust. The program in the build tree finds them
# there, too.
set(RH_SHARE_SUBDIR "${CMAKE_INSTALL_DATADIR}/roundhouse")
install(FILES "${PROJECT_SOURCE_DIR}/cmake/plugin.map" DESTINATION "${RH_SHARE_SUBDIR}")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/bindings/rust" DESTINATION "${RH_SHARE_SUBDIR}" PATTERN "target" EXCLUDE
        PATTERN "Cargo.lock" EXCLUDE)
file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/share/roundhouse")
file(CREATE_LINK "${PROJECT_SOURCE_DIR}/bindings/rust" "${PROJECT_BINARY_DIR}/share/roundhouse/rust" SYMBOLIC)

# The descriptions for authors of plugins, backends and programs say where things are relative to themselves: an
# installation can be moved.
file(RELATIVE_PATH RH_PC_TO_PREFIX "/p/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/p")
configure_file(cmake/roundhouse-plugin.pc.in roundhouse-plugin.pc @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/roundhouse-plugin.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
if(TARGET rhcomm)
  configure_file(cmake/roundhouse-comm.pc.in roundhouse-comm.pc @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/roundhouse-comm.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endif()

configure_package_config_file(cmake/roundhouse-config.cmake.in "${PROJECT_BINARY_DIR}/roundhouse-config.cmake"
  INSTALL_DESTINATION "${RH_CMAKE_DIR}"
  PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_BINDIR CMAKE_INSTALL_LIBDIR RH_PLUGIN_SUBDIR RH_SHARE_SUBDIR)
# the plugin ABI only grows, so what an older release offered to plugins a newer one does, too
write_basic_package_version_file("${PROJECT_BINARY_DIR}/roundhouse-config-version.cmake"
  COMPATIBILITY AnyNewerVersion ARCH_INDEPENDENT)
install(FILES "${PROJECT_BINARY_DIR}/roundhouse-config.cmake" "${PROJECT_BINARY_DIR}/roundhouse-config-version.cmake"
        DESTINATION "${RH_CMAKE_DIR}")
