"""Rewrites the written archive as a machine of the other byte order would have written it.

Usage: python big_endian.py FOLDER NEW_FOLDER. Knows the records of `four-ranks` only, and files
of one chunk. The package `otf2` reads the result as it reads the original.
"""

import sys
from pathlib import Path

# The parts of each record: a byte, a compressed number, eight bytes, a text. Kinds that end in
# `*` go on as their own function says.
EVENTS = {5: "f", 10: "f", 11: "b", 14: "nnnn", 15: "nnnnn", 18: "nnnn", 19: "nnnnn", 22: ""}
EVENTS |= {23: "bnnnn", 32: "nn", 33: "nn", 34: "nn", 53: "bn", 85: "n", 86: "bnnnnn"}
EVENTS |= {89: "nnnn", 90: "nn", 91: "nn", 92: "nn"} | dict.fromkeys([12, 13, 16, 17, 20, 21], "n")
WITHOUT_LENGTH = [5, 12, 13, 16, 17, 20, 21]
GLOBAL = {5: "nnnn", 10: "ns", 11: "nnbn", 12: "nnnn", 13: "nnbnn", 14: "nnbnn", 22: "nnnnn"}
GLOBAL |= {15: "nnnbnnnnbbn", 23: "nnb", 43: "nnnnnn"}
LOCAL = {6: "fnf"}
END_OF_FILE = 2


class Swap:
    """Reads a file in one byte order and writes it in the other."""

    def __init__(self, data):
        self.data, self.at, self.out = data, 0, bytearray()
        self.keep(1)
        assert self.data[1] == 0x42, "little-endian"
        self.out.append(0x23)
        self.at = 2

    def keep(self, size):
        """Copies bytes as they are."""
        self.out += self.data[self.at : self.at + size]
        self.at += size
        return self.out[-size:]

    def swap(self, size):
        """Turns the bytes of a number around, and returns it."""
        part = self.data[self.at : self.at + size]
        self.out += part[::-1]
        self.at += size
        return int.from_bytes(part, "little")

    def part(self, kind):
        """Copies one part of a record."""
        if kind == "b":
            return self.keep(1)[0]
        if kind == "f":
            return self.swap(8)
        if kind == "s":
            return self.keep(self.data.index(0, self.at) + 1 - self.at)
        size = self.keep(1)[0]
        return 0 if size in (0, 255) else self.swap(size)

    def parts(self, kinds):
        """Copies parts of a record."""
        return [self.part(kind) for kind in kinds]

    def attributes(self):
        """Copies a list of attributes, all unsigned numbers."""
        for _ in range(self.part("n")):
            self.parts("nbn")

    def mapping_table(self):
        """Copies a mapping table."""
        _, size, sparse = self.parts("bnb")
        self.parts("n" * size * (1 + sparse))

    def group(self):
        """Copies a group."""
        self.parts("nnb")
        self.parts("n" * self.part("n"))
        self.parts("bbn")

    def records(self, layout, special):
        """Copies the records of a file of one chunk."""
        self.parts("ff")
        while (kind := self.keep(1)[0]) != END_OF_FILE:
            has_length = layout is not EVENTS or kind not in WITHOUT_LENGTH
            if has_length and self.keep(1)[0] == 255:
                self.swap(8)
            if kind in special:
                special[kind]()
            else:
                self.parts(layout[kind])
        self.keep(1)
        assert self.at == len(self.data), "everything is copied"
        return self.out

    def anchor(self):
        """Copies an anchor file with one property."""
        self.parts("sbbbbbffbbffsss")
        self.swap(4)
        self.parts("ssf")
        self.swap(4)
        self.swap(4)
        self.keep(3)
        assert self.at == len(self.data), "everything is copied"
        return self.out


def main(source, target):
    """Writes an archive's files anew in the other byte order."""
    for path in Path(source).rglob("*.*"):
        swap = Swap(path.read_bytes())
        if path.suffix == ".otf2":
            new = swap.anchor()
        elif path.suffix == ".evt":
            new = swap.records(EVENTS, {6: swap.attributes})
        elif path.stem == "traces":
            new = swap.records(GLOBAL, {18: swap.group})
        else:
            new = swap.records(LOCAL, {5: swap.mapping_table})
        place = Path(target) / path.relative_to(source)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(new)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
