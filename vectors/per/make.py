#!/usr/bin/env python3
"""Generates constructs.json: aligned PER of every construct, made with encoders that are independent of ours.

    python3 -m venv venv && venv/bin/pip install pycrate==0.8.1 asn1tools==0.169.0 && venv/bin/python make.py

Each vector has the type (its ASN.1 is below), the number of bits before the value (`phase`), the value in the notation of
`per::Describe`, and the octets. The `phase` bits before the value are ones, and so is the bit after it: thus padding occurs at
every position within an octet. Repeated octets are written `5a*16384`; lists of more than 100 items as their length and last item.
asn1tools encodes REAL and PrintableString of at most one character, pycrate all others. Empty strings under a bounded size are
left out: both encoders pad them, X.691 11.9.3.3 does not.
"""
import contextlib
import importlib.util
import io
import json
import os
import tempfile

TYPES = []


def add(name, asn1, *values, phases=(0, 1, 6)):
    """Each of VALUES is a pair of pycrate's form and ours, or one value for both."""
    TYPES.append((name, asn1, [v if isinstance(v, Pair) else Pair(v, v) for v in values], phases))


class Pair:
    def __init__(self, theirs, ours):
        self.theirs, self.ours = theirs, ours


def runs(octets):
    """Hexadecimal, with runs of more than 16 octets shortened."""
    out, i = [], 0
    while i < len(octets):
        j = i
        while j < len(octets) and octets[j] == octets[i]:
            j += 1
        out.append(octets[i:i + 1].hex() * (j - i) if j - i <= 16 else " %02x*%d " % (octets[i], j - i))
        i = j
    return " ".join("".join(out).split())


def octets(n, fill=0x5A):
    return Pair(bytes([fill]) * n, runs(bytes([fill]) * n))


def bits(n, value=None):
    value = (1 << n) - 1 if value is None else value
    padded = (value << (-n % 8)).to_bytes((n + 7) // 8, "big")
    return Pair((value, n), "%s/%d" % (runs(padded), n))


def items(values):
    values = list(values)
    return Pair(values, values if len(values) <= 100 else {"len": len(values), "last": values[-1]})


def integers():
    for name, lo, hi in [
        ("One", 5, 5), ("Two", 0, 1), ("Range255", 0, 254), ("Range256", 0, 255), ("Range256From1", 1, 256),
        ("Range257", 0, 256), ("Range64k", 0, 65535), ("Range64k1", 0, 65536), ("Signed", -100000, 100000),
        ("Range24", 0, 2**24 - 1), ("Range32", 0, 2**32 - 1), ("Range32And1", 0, 2**32), ("Range40", 0, 2**40 - 1),
        ("All64", -(2**63), 2**63 - 1), ("Positive", 0, 2**63 - 1),
    ]:
        near = [1, 127, 128, 255, 256, 65535, 65536, 2**24 - 1, 2**24, 2**32 - 1, 2**32, 2**40 - 1, 2**56]
        values = {lo, hi} | {v for d in near for v in (lo + d, hi - d) if lo <= v <= hi}
        add("Integer" + name, "INTEGER (%d..%d)" % (lo, hi), *sorted(values))
    some = [0, 1, 127, 128, 255, 256, 32767, 32768, 65536, 2**31, 2**32, 2**47, 2**62, 2**63 - 1]
    add("IntegerExtensible", "INTEGER (0..255, ...)", -1, -(2**63), *some)
    add("IntegerSemi", "INTEGER (0..MAX)", *some)
    add("IntegerSemiNegative", "INTEGER (-5..MAX)", -5, -1, *some[:-1])
    add("IntegerAny", "INTEGER", *some, *[-v - 1 for v in some])


def strings():
    for name, size, lengths in [
        ("", "", [0, 1, 127, 128, 16383, 16384, 16385, 65535, 65536, 81920, 65536 * 2 + 16384 * 3 + 129]),
        ("Size0", "(SIZE (0))", [0]), ("Size1", "(SIZE (1))", [1]), ("Size2", "(SIZE (2))", [2]),
        ("Size3", "(SIZE (3))", [3]), ("Size20", "(SIZE (20))", [20]),
        ("UpTo1", "(SIZE (0..1))", [1]), ("UpTo2", "(SIZE (0..2))", [1, 2]),
        ("OneToTwo", "(SIZE (1..2))", [1, 2]), ("OneToEight", "(SIZE (1..8))", [1, 8]),
        ("UpTo255", "(SIZE (0..255))", [1, 255]), ("UpTo300", "(SIZE (0..300))", [1, 300]),
        ("Extensible2", "(SIZE (2, ...))", [2, 1, 0, 3, 200]), ("Extensible3", "(SIZE (3, ...))", [3, 2, 4]),
        ("ExtensibleTo4", "(SIZE (1..4, ...))", [1, 4, 0, 5, 16384]),
        ("UpTo65535", "(SIZE (0..65535))", [1, 20000, 65535]), ("UpTo65536", "(SIZE (0..65536))", [0, 1, 65536]),
        ("From10", "(SIZE (10..70000))", [10, 16384, 70000]), ("Size65535", "(SIZE (65535))", [65535]),
        ("Size65536", "(SIZE (65536))", [65536]),
    ]:
        add("Octets" + name, "OCTET STRING " + size, *[octets(n) for n in lengths])
    for name, size, lengths in [
        ("", "", [0, 1, 127, 128, 16384]), ("Size1", "(SIZE (1))", [1]), ("Size2", "(SIZE (2))", [2]),
        ("Size3", "(SIZE (3))", [3]), ("UpTo2", "(SIZE (0..2))", [1, 2]),
        ("Name", "(SIZE (1..150, ...))", [1, 150, 0, 151]), ("Extensible1", "(SIZE (1, ...))", [1, 0, 2]),
    ]:
        add("Text" + name, "PrintableString " + size, *[Pair("K" * n, runs(b"K" * n)) for n in lengths])
    for name, size, lengths in [
        ("", "", [0, 1, 8, 63, 64, 65, 128, 1000, 16383, 16384, 16385, 65536 + 9]),
        ("Size1", "(SIZE (1))", [1]), ("Size8", "(SIZE (8))", [8]), ("Size16", "(SIZE (16))", [16]),
        ("Size17", "(SIZE (17))", [17]), ("Size28", "(SIZE (28))", [28]), ("Size64", "(SIZE (64))", [64]),
        ("Size65", "(SIZE (65))", [65]), ("UpTo1", "(SIZE (0..1))", [1]), ("UpTo7", "(SIZE (0..7))", [1, 7]),
        ("22To32", "(SIZE (22..32, ...))", [22, 29, 32, 21, 33, 100]), ("Extensible8", "(SIZE (8, ...))", [8, 7, 9]),
        ("UpTo70000", "(SIZE (0..70000))", [0, 70000]), ("Size65535", "(SIZE (65535))", [65535]),
        ("Size65536", "(SIZE (65536))", [65536]),
    ]:
        add("Bits" + name, "BIT STRING " + size, *[bits(n) for n in lengths])


def constructed():
    add("Enumerated", "ENUMERATED {a, b, c}", *[Pair(v, v.upper()) for v in "abc"])
    wide = ["x%d" % i for i in range(70)]
    add("EnumeratedWide", "ENUMERATED {a, b, ..., %s}" % ", ".join(wide),
        *[Pair(v, v.upper()) for v in ["a", "b", "x0", "x1", "x62", "x63", "x64", "x69"]])
    add("Choice", "CHOICE {a INTEGER (0..7), b OCTET STRING, c NULL}",
        Pair(("a", 5), {"A": 5}), Pair(("b", b"\x5a"), {"B": "5a"}), Pair(("c", 0), {"C": None}))
    add("ChoiceOne", "CHOICE {a INTEGER (0..7), ...}", Pair(("a", 5), {"A": 5}))
    add("ChoiceExtensible", "CHOICE {a INTEGER (0..7), b BOOLEAN, ..., c NULL, d INTEGER (0..7), e OCTET STRING}",
        Pair(("a", 5), {"A": 5}), Pair(("b", True), {"B": True}), Pair(("c", 0), {"C": None}),
        Pair(("d", 5), {"D": 5}), *[Pair(("e", octets(n).theirs), {"E": octets(n).ours})
                                   for n in (0, 126, 127, 128, 16381, 16382, 16383, 16384, 70000)])
    add("Flat", "SEQUENCE {a INTEGER (0..7), b BOOLEAN}", {"a": 5, "b": True})
    add("Optional", "SEQUENCE {a INTEGER (0..7) OPTIONAL, b BOOLEAN DEFAULT TRUE, c INTEGER (0..9) DEFAULT 3}",
        Pair({}, {"b": True, "c": 3}), Pair({"a": 5}, {"a": 5, "b": True, "c": 3}),
        {"a": 5, "b": False, "c": 4}, {"b": False, "c": 9})
    add("Extended", "SEQUENCE {a INTEGER (0..7), b BOOLEAN OPTIONAL, ..., c INTEGER (0..255), d OCTET STRING OPTIONAL,"
        " [[ e INTEGER (0..7), f BOOLEAN OPTIONAL, g INTEGER (0..9) DEFAULT 3 ]], h BOOLEAN}",
        *[Pair(v, {"g": 3, **v}) for v in [
            {"a": 5}, {"a": 5, "b": True}, {"a": 5, "c": 200}, {"a": 5, "d": ""}, {"a": 5, "e": 5},
            {"a": 5, "e": 5, "f": True}, {"a": 5, "e": 5, "g": 4}, {"a": 5, "h": True},
            {"a": 5, "b": False, "c": 255, "d": "5a5a", "e": 7, "f": False, "g": 9, "h": False}]])
    more = ", ".join("x%d INTEGER (0..255)" % i for i in range(64))
    # 64 additions, of which the Rust type knows none; pycrate and asn1tools each write a longer bitmap in a wrong form
    for name, there in [("Few", {"x0": 1}), ("Many", {"x%d" % i: i for i in range(64)}), ("Last", {"x63": 63})]:
        add("UnknownAdditions" + name, "SEQUENCE {a INTEGER (0..7), ..., %s}" % more, Pair({"a": 5, **there}, {"a": 5}))
    for name, size, lengths in [
        ("", "", [0, 1, 127, 128, 16383, 16384, 16385, 65536 + 16384 + 5]), ("Size3", "SIZE (3)", [3]),
        ("UpTo3", "SIZE (0..3)", [0, 3]), ("OneTo255", "SIZE (1..255)", [1, 255]), ("OneTo256", "SIZE (1..256)", [1, 256]),
        ("OneTo65535", "SIZE (1..65535)", [1, 300]), ("UpTo65536", "SIZE (0..65536)", [0, 300, 20000]),
        ("Extensible", "SIZE (1..2, ...)", [1, 2, 0, 3, 200]),
    ]:
        size = "(%s)" % size if size else ""
        add("List" + name, "SEQUENCE %s OF INTEGER (0..7)" % size, *[items([7] * n) for n in lengths])
    add("Nested", "SEQUENCE (SIZE (0..3)) OF SEQUENCE (SIZE (0..3)) OF OCTET STRING (SIZE (1..3))",
        Pair([], []), Pair([[], [b"\x5a"], [b"\x5a", b"\x5a" * 3]], [[], ["5a"], ["5a", "5a5a5a"]]))
    add("Deep", "CHOICE {a BOOLEAN, ..., b CHOICE {a BOOLEAN, ..., b OCTET STRING}}",
        *[Pair(("b", ("b", octets(n).theirs)), {"B": {"B": octets(n).ours}}) for n in (1, 126, 16380, 16384, 65536, 200000)])


def pycrate():
    from pycrate_asn1rt.asnobj import ASN1Obj
    from pycrate_asn1rt.codecs import ASN1CodecPER
    from pycrate_asn1c.asnproc import GLOBAL, PycrateGenerator, compile_text

    def theirs(value, asn1):
        if "[[" not in asn1:
            return value
        value = {"g": 3, **value} if "e" in value else value  # pycrate wants the default told
        return {**value, "d": bytes.fromhex(value["d"])} if "d" in value else value

    lines = []
    for name, asn1, _, phases in TYPES:
        lines.append("%s ::= %s" % (name, asn1))
        for phase in phases:
            p = "p BIT STRING (SIZE (%d)), " % phase if phase else ""
            lines.append("%sP%d ::= SEQUENCE {%sv %s, t BOOLEAN}" % (name, phase, p, name))
    # a misprint of pycrate's, and a check that it forgot
    ASN1CodecPER.encode_pas = lambda: ASN1CodecPER.encode_pad() if ASN1CodecPER._off[-1] % 8 else []
    ASN1Obj._SAFE_VAL = False  # its check of groups refuses complete ones
    GLOBAL.clear()
    with contextlib.redirect_stdout(io.StringIO()), tempfile.TemporaryDirectory() as folder:
        compile_text("M DEFINITIONS AUTOMATIC TAGS ::= BEGIN\n%s\nEND\n" % "\n".join(lines))
        path = os.path.join(folder, "compiled.py")
        PycrateGenerator(path)
        spec = importlib.util.spec_from_file_location("compiled", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    out = []
    for name, asn1, values, phases in TYPES:
        for value in values:
            for phase in phases if len(str(value.ours)) < 60 and not isinstance(value.ours, dict) else phases[1:2]:
                outer = getattr(module.M, "%sP%d" % (name, phase))
                whole = {"v": theirs(value.theirs, asn1), "t": True}
                if phase:
                    whole["p"] = ((1 << phase) - 1, phase)
                outer.set_val(whole)
                out.append(dict(type=name, phase=phase, value=value.ours, hex=runs(outer.to_aper())))
    return out


def asn1tools():
    import asn1tools

    floats = [0.0, 1.0, -1.0, 0.5, 0.1, 1e-300, -2.5e300, 5e-324, 1.7976931348623157e308, 3.0, 100.0, 1024.0, 1 / 3]
    out = []
    for name, asn1, values in [
        ("Real", "REAL", floats),
        ("TextUpTo1", "PrintableString (SIZE (0..1))", ["", "K"]),
        ("TextExtensibleUpTo1", "PrintableString (SIZE (0..1, ...))", ["", "K"]),
    ]:
        module = asn1tools.compile_string(
            "M DEFINITIONS AUTOMATIC TAGS ::= BEGIN T ::= SEQUENCE {p BIT STRING (SIZE (1)), v %s, t BOOLEAN} END" % asn1,
            "per")
        for value in values:
            encoded = module.encode("T", {"p": (b"\x80", 1), "v": value, "t": True})
            ours = runs(value.encode()) if isinstance(value, str) else value
            out.append(dict(type=name, phase=1, value=ours, hex=runs(encoded)))
    return out


integers()
strings()
constructed()
vectors = pycrate() + asn1tools()
with open("constructs.json", "w") as file:
    file.write("[\n" + ",\n".join(json.dumps(v) for v in vectors) + "\n]\n")
