# SPDX-License-Identifier: Apache-2.0
# cmake -DINPUT=FILE -DTEMPLATE=FILE.c.in -DOUTPUT=FILE.c [-DRH_SYMBOL=NAME] -P EmbedText.cmake: write the bytes of
# INPUT as a C array.
# TEMPLATE uses @RH_BYTES@ and, where given, @RH_SYMBOL@.
file(READ "${INPUT}" RH_BYTES HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," RH_BYTES "${RH_BYTES}")
configure_file("${TEMPLATE}" "${OUTPUT}" @ONLY)
