# SPDX-License-Identifier: Apache-2.0
# cmake -DROOT=FOLDER -DFILES="A;B" -DOUTPUT=FILE.c -P EmbedFiles.cmake: write the templates FILES, paths below ROOT, as
# rh_templates[] of core/cli/scaffold/scaffold.h.
set(texts "")
set(rows "")
set(number 0)
foreach(file IN LISTS FILES)
  file(READ "${ROOT}/${file}" bytes HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  string(APPEND texts "static const char template_${number}[] = {${bytes} 0};\n")
  string(APPEND rows "\t{\"${file}\", template_${number}},\n")
  math(EXPR number "${number} + 1")
endforeach()
file(WRITE "${OUTPUT}" "/* SPDX-License-Identifier: Apache-2.0 */
/* Generated from core/cli/templates by cmake/EmbedFiles.cmake. Do not edit. */
#include \"cli/scaffold/scaffold.h\"

${texts}
const struct rh_template rh_templates[] = {\n${rows}\t{NULL, NULL},\n};\n")
