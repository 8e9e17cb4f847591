"""Writes UnicodeClasses.inc: the general categories L, M, N, P and S of Unicode 16, and White_Space.

    python3 GenerateUnicodeClasses.py > UnicodeClasses.inc

Needs a Python whose unicodedata is Unicode 16, or the module unicodedata2 16.
"""
import sys
import unicodedata

if unicodedata.unidata_version != "16.0.0":
    import unicodedata2 as unicodedata

CLASSES = {"L": "Letter", "M": "Mark", "N": "Number", "P": "PunctSymbol", "S": "PunctSymbol"}
# The property White_Space has no function in unicodedata; it is stable.
WHITE_SPACE = [(0x09, 0x0D), (0x20, 0x20), (0x85, 0x85), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A),
               (0x2028, 0x2029), (0x202F, 0x202F), (0x205F, 0x205F), (0x3000, 0x3000)]


def class_ranges():
    ranges = []
    for code in range(sys.maxunicode + 1):
        name = CLASSES.get(unicodedata.category(chr(code))[0])
        if name and ranges and ranges[-1][1:] == [code - 1, name]:
            ranges[-1][1] = code
        elif name:
            ranges.append([code, code, name])
    return ranges


def main():
    if unicodedata.unidata_version != "16.0.0":
        sys.exit(f"expected Unicode 16.0.0, found {unicodedata.unidata_version}")
    print("// Classes of characters, Unicode 16.0.0: {first, last, class}.")
    print("// Written by GenerateUnicodeClasses.py. clang-format off")
    for first, last, name in class_ranges() + [[*span, "Space"] for span in WHITE_SPACE]:
        print(f"{{0x{first:X}, 0x{last:X}, {name}}},")


main()
