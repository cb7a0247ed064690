"""Text of the web: which encoding bytes are in, by what was said of them and by themselves (https://encoding.spec.whatwg.org)."""

import codecs
import re

_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_CODECS = {
    "utf-8": "utf-8 utf8 unicode-1-1-utf-8",
    "cp1252": "windows-1252 cp1252 iso-8859-1 iso8859-1 iso_8859-1 latin1 latin-1 l1 ascii us-ascii",
    "iso8859-2": "iso-8859-2 iso8859-2 latin2",
    "iso8859-3": "iso-8859-3",
    "iso8859-4": "iso-8859-4",
    "iso8859-5": "iso-8859-5",
    "iso8859-6": "iso-8859-6",
    "iso8859-7": "iso-8859-7 greek",
    "iso8859-8": "iso-8859-8 iso-8859-8-i",
    "iso8859-10": "iso-8859-10",
    "iso8859-13": "iso-8859-13",
    "iso8859-14": "iso-8859-14",
    "iso8859-15": "iso-8859-15 iso8859-15 latin9",
    "iso8859-16": "iso-8859-16",
    "cp1250": "windows-1250 cp1250",
    "cp1251": "windows-1251 cp1251",
    "cp1253": "windows-1253 cp1253",
    "cp1254": "windows-1254 cp1254 iso-8859-9 latin5",
    "cp1255": "windows-1255 cp1255",
    "cp1256": "windows-1256 cp1256",
    "cp1257": "windows-1257 cp1257",
    "cp1258": "windows-1258 cp1258",
    "cp874": "windows-874 tis-620 iso-8859-11",
    "koi8-r": "koi8-r koi8",
    "koi8-u": "koi8-u",
    "cp866": "ibm866 cp866",
    "mac-roman": "macintosh",
    "cp932": "shift_jis shift-jis sjis x-sjis windows-31j ms_kanji",
    "euc-jp": "euc-jp x-euc-jp",
    "iso2022-jp": "iso-2022-jp",
    "cp949": "euc-kr ks_c_5601-1987 korean windows-949",
    "gb18030": "gbk gb2312 gb18030 gb_2312-80 x-gbk chinese",
    "big5hkscs": "big5 big5-hkscs cn-big5",
    "utf-16-le": "utf-16 utf-16le unicode",
    "utf-16-be": "utf-16be",
}
_BY_LABEL = {label: codec for codec, labels in _CODECS.items() for label in labels.split()}
CODECS = tuple(_CODECS)
"""All encodings by the names of Python, for who must load them before they are needed."""
_LOOKED_AT = 4096
_IN_HTML = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w:.-]{2,40})", re.IGNORECASE)
_IN_XML = re.compile(rb"^\s*<\?xml[^>]{0,100}?encoding\s*=\s*[\"']([\w:.-]{2,40})[\"']")


def decode(data: bytes, told: str = "", *, markup: bool = False) -> tuple[str, str]:
    """The text, and the encoding in which it was read. `told`: the `charset` of the Content-Type, which a byte order mark overrules.

    With `markup` what the beginning of the page or of the XML says counts next. Then it is UTF-8 where it can be, else Windows-1252. Never raises: what
    has no character becomes U+FFFD.
    """
    for mark, name in _BOMS:
        if data.startswith(mark):
            return data[len(mark) :].decode(name, "replace"), name
    found = _BY_LABEL.get(told.strip().strip("\"'").lower(), "")
    if not found and markup:
        said = _IN_XML.search(data[:_LOOKED_AT]) or _IN_HTML.search(data[:_LOOKED_AT])
        found = _BY_LABEL.get(said[1].decode("ascii").lower(), "") if said else ""
        if found.startswith("utf-16"):  # who could read the declaration has read single bytes
            found = "utf-8"
    if found:
        return data.decode(found, "replace"), found
    try:
        return data.decode(), "utf-8"
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace"), "cp1252"
