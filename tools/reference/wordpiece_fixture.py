#!/usr/bin/env python3
"""Writes the WordPiece fixtures of tests/text/wordpiece_tokenizer_test.cpp with the reference tokenizer.

    python3 -m venv /tmp/venv && /tmp/venv/bin/pip install tokenizers
    /tmp/venv/bin/python tools/reference/wordpiece_fixture.py .deps/minilm tests/data

The reference is Hugging Face's BertTokenizerFast, that is `tokenizers` 0.23.3 reading the model's own tokenizer.json
(what sentence-transformers runs), without truncation, padding and added special tokens, and with
encode_special_tokens: "[MASK]" in a text is read as text, so that no text can forge a special token.

Where the fast tokenizer and the older pure-Python one differ, the fast one is followed:
  - capital sigma at a word's end becomes U+03C3, not U+03C2 (each character is lower-cased on its own);
  - accents are stripped before lower-casing, not after;
  - unassigned characters are letters, not dropped; categories are those of Unicode 8, so newer punctuation does not
    split a word and newer combining marks are not stripped;
  - ideographs U+2B820 to U+2B91F do not stand alone (a slip of the fast one's table).
"""
import json
import pathlib
import random
import sys
import zlib

from tokenizers import Tokenizer

# Each string is one line of the fixture, group by group.
HARD_LINES = {
    "plain": [
        "", " ", "A cat sat on the mat.", "Hello, World!", "HELLO WORLD", "don't won't can't o'clock", "e.g. i.e. U.S.A.",
        "state-of-the-art", "snake_case camelCase kebab-case", "1234567890", "3.14159 2,718 1e-10 0x1F 50%", "a+b=c*d/e",
        "C++ C# F# .NET", "https://example.org/path?q=1&r=2#top", "user@example.org", "#include <stdio.h>",
        "if (x < 0) { return -x; }", "((((([[[[{{{{<<<<", "!!!???...,,,;;;:::", "``quoted'' \"text\" 'here'", "~^|\\`@$%&*",
        "the " * 40, "antidisestablishmentarianism", "pneumonoultramicroscopicsilicovolcanoconiosis",
        "Unaffable unbelievable embeddings tokenization", "xyzzyx qwrtplk zzzzzz", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    ],
    "specials as text": [
        "[CLS]", "[SEP]", "[MASK]", "[PAD]", "[UNK]", "[unused1]", "[cls] [Sep] [mAsK]", "a [MASK] b", "[MASK][MASK]", "[ MASK ]",
        "x[CLS]y", "##ing ##", "#ing", "<s> </s> <unk> <pad>", "[CLS] hello [SEP] world [SEP]", "[MASK", "MASK]", "[[MASK]]",
    ],
    "white space": [
        "a\tb", "a\nb", "a\r\nb", "a\rb", "a\vb", "a\fb", "a\u00a0b", "a\u1680b", "a\u2000b\u2001c\u2002d\u2003e", "a\u2009b\u200ac",
        "a\u2028b\u2029c", "a\u202fb\u205fc", "a\u3000b", "a\u0085b", "   leading and trailing   ", "many      spaces", "\t\t\n\n", "a \t \n b",
    ],
    "control and format": [
        "\x00", "a\x00b", "\x01\x02\x03\x1f", "a\x07b\x08c", "a\x1b[31mred\x1b[0m", "a\x7fb", "a\x80\x9fb", "soft\u00adhyphen", "zero\u200bwidth\u200cjoin\u200der",
        "left\u200eright\u200fmark", "\u202aembedded\u202c \u202eoverride\u202c", "\u2066isolate\u2069", "word\u2060joiner", "\ufeffbyte order mark", "in\ufeffside",
        "arabic\u0600number\u0605sign", "\u061cletter mark", "\u070fabbreviation", "mongolian\u180evowel", "\ufff9annotation\ufffaseparator\ufffb", "tag\U000e0001\U000e0041\U000e007f",
        "music\U0001d173beam\U0001d17a", "shorthand\U0001bca0\U0001bca3", "kaithi\U000110bdnumber\U000110cdabove", "hieroglyph\U00013430joiner",
    ],
    "broken and private": [
        "\ufffd", "a\ufffdb", "private\ue000use\uf8ff", "plane\U000f0000fifteen", "plane\U0010fffdsixteen", "non\uffffcharacter\ufffe", "\ufdd0\ufdef",
        "before\ud7ffsurrogates", "after\ue000surrogates", "unassigned\u0378here", "\U000e0fff\U0001ffff", "last\U0010ffffone",
    ],
    "accents": [
        "café", "cafe\u0301", "naïve façade résumé Zoë", "ÀÁÂÃÄÅ àáâãäå", "ÇĆČ çćč", "ÈÉÊË ĒĖĘ", "ÑŃŇ ñńň", "ÖØŐ öøő", "ŠŚŞ šśş", "ŽŹŻ žźż", "Łódź", "Ærøskøbing Straße",
        "STRASSE ẞ ß", "Þórr Ðar", "Dvořák Škvorecký", "Đặng Thị Ngọc Thịnh", "Việt Nam Nguyễn", "ế ề ể ễ ệ Ế Ề Ể Ễ Ệ", "ǖ ǘ ǚ ǜ Ǖ", "ṩ ẛ̣ ṩ",
        "a\u0300\u0301\u0302\u0303\u0304", "\u0301leading mark", "\u0301", "a \u0301 b", "Z\u0351\u036b\u0343\u036a\u0302\u036b\u033d\u034f\u0334\u0319\u0324algo", "o\u0328\u0304 o\u0304\u0328", "q\u0307\u0323 q\u0323\u0307",
        "İstanbul ISTANBUL ıstanbul istanbul", "Diyarbakır IĞDIR", "i\u0307 I\u0307", "ǅ ǆ Ǆ ǈ ǋ ǲ", "ŉ ŀ ĸ ſ", "Ω Ω K K Å Å", "mañana mañana", "Ȁ ȁ Ȃ ȃ Ȁ",
    ],
    "Greek and Cyrillic": [
        "Ελληνικά", "ΟΔΥΣΣΕΥΣ", "ὈΔΥΣΣΕΎΣ Ὀδυσσεύς", "σ ς Σ", "ἀρχὴ ἥμισυ παντός", "ᾳ ᾼ ᾷ ῇ ῷ", "΄ ΅ ; ·", "Ἀ Ἁ ᾎ ᾏ", "Ёлка ёжик Й й", "ЩУКА щука", "Київ Їжак Ґанок", "Ѝ ѝ Ѐ ѐ",
        "и\u0306 е\u0308", "ҔҖҚ ҕҗқ", "Ӂ Ӑ Ӓ Ӗ",
    ],
    "Chinese, Japanese, Korean": [
        "中文", "我爱北京天安门", "中文abc英文123", "一二三，四五六。", "「引用」『二重』", "日本語のテキスト", "カタカナ ｶﾀｶﾅ", "ひらがな がぎぐ か\u3099き\u3099", "ぱぴぷ は\u309a", "ヴ ヷ ヸ", "東京2020オリンピック",
        "한국어 텍스트", "각 각 \u1100\u1161\u11a8", "대한민국", "ㄱㄴㄷ ㅏㅑ", "ﾡﾢ", "𠀀𠀁𪛖", "𪜀𫜴𫝀𫠝", "\U0002b820 \U0002b91f \U0002b920 \U0002ceaf", "\U0002ceb0 \U00030000", "豈更車 嶺 \ufa0e \ufaff", "\U0002f800 \U0002fa1d", "㐀㐁䶵 䶶",
        "\u9fff \u9ffc a\u9fffb", "〇〡〢 々〆", "ＡＢＣ１２３！？", "㍿ ㈱ ① Ⓐ ㋿", "〱〲 〳", "⺀⺁ ⼀⼁", "台灣 臺灣 台湾", "\u302e\u302f tone marks",
    ],
    "other scripts": [
        "ภาษาไทย", "สวัสดีครับ น้ำ", "ກຂຄ ຳ", "हिन्दी में पाठ", "क़ ख़ ग़ ड़", "বাংলা লেখা ো ৌ", "தமிழ் உரை ொ", "తెలుగు", "ಕನ್ನಡ ೋ", "മലയാളം ൊ", "සිංහල ෝ", "ગુજરાતી ਪੰਜਾਬੀ ଓଡ଼ିଆ", "བོད་ཡིག གྷ", "မြန်မာ ဦ",
        "العربية", "السَّلَامُ عَلَيْكُمْ", "ﷺ ﷲ ﻻ ﻷ", "آأإؤئ", "فارسی ۱۲۳ ١٢٣", "עברית", "שָׁלוֹם עֲלֵיכֶם", "שׁ שׂ אַ פּ", "ܣܘܪܝܝܐ", "ދިވެހި", "አማርኛ ፊደል።", "ქართული ᲥᲐᲠᲗᲣᲚᲘ Ⴀ", "Հայերեն ԵՐԵՎԱՆ և", "ᠮᠣᠩᠭᠣᠯ", "ខ្មែរ", "ᏣᎳᎩ ꭰꭱ",
        "ᚠᚢᚦ ᚁᚂ", "𐌰𐌱 𐐀𐐨 𐒰𐓘", "𞤀𞤢 𞤁", "ꓐꓑ ꙀꙂ", "\U00011938 \U00011935\U00011930", "\u1734 \u1714", "\u166d \u166e", "𑄮 𑄯 𑒻 𑖺",
    ],
    "symbols": [
        "😀😃😄", "👍🏽", "👨‍👩‍👧‍👦 family", "🇩🇪🇯🇵", "❤️ ❤", "1️⃣2️⃣", "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f", "text😀text", "☺︎ ☺️", "🫠🫡🪿 new", "→ ⇒ ↔ ∀x∃y", "∑∏∫√∞ ≈≠≤≥", "x² y³ H₂O ½ ¼ ⅓", "€100 £50 ¥1000 ₹ ₿ ¢",
        "© ® ™ § ¶ † ‡", "“curly” ‘quotes’ «guillemets» ‹x›", "en–dash em—dash ‒ ― ‐ ‑", "ellipsis… · • ‣", "¿Qué? ¡Hola!", "‽ ⁇ ⁈", "ﬁ ﬂ ﬃ ﬄ ﬅ ﬆ", "ĳ Ĳ œ Œ æ Æ", "𝐀𝐁𝐂 𝒜ℬ𝒞 𝔄𝔅 𝟘𝟙𝟚", "𝛼𝛽𝛾 ∂ 𝜕", "ℌ ℑ ℜ ℝ ℤ ℵ", "░▒▓█ ┌─┐", "♠♥♦♣ ♔", "⠁⠂⠃",
        "\u2e43 \u2e52 a\u2e43b a\u2e5db", "a\u2010b a\u2027b a\u203fb", "a\u00b7b a\u00a7b a\u00b6b", "a\u00acb a\u00b1b a\u00d7b", "⸮ ⸗ ⸺", "\u055a\u055f \u0589 \u05be \u05f3", "\u060c\u061b\u061f \u06d4", "\u0964\u0965 \u0e5b", "𐄀 𐬹 𑁇 𒑰",
        "a\u3001b\u3002c\u300ad\u300b", "a\uff0cb\uff0ec\uff1ad", "a\ufe50b\ufe63c",
    ],
    "long words": [
        "a" * 99, "a" * 100, "a" * 101, "b" * 1000, "é" * 100, "é" * 101, "e\u0301" * 100, "e\u0301" * 101, "x" * 100 + "." + "y" * 101, "中" * 150, "한" * 33, "한" * 34, "word" * 25, "word" * 26, "-" * 120, "\u200b" * 200 + "a", "a\u200b" * 100, "a\u200b" * 101,
        "ﷺ" * 100, "ß" * 101, "1" * 100, "1" * 101, ("supercalifragilistic" * 5), ("supercalifragilistic" * 5) + "x",
    ],
}
FUZZ_POOL = "aeioxyzABCXYZ 019.,'-[]#éÉñßİıΣςЖй中文한글日ไ้ا٠ש\u0301\u0323\u200d\u00ad\u200b\ufffd\x00\t\n\u3000😀👍🏽ﬁ½𝐀\ue000\u2e43\u0378"


def load(directory):
    tokenizer = Tokenizer.from_file(str(directory / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = True
    return tokenizer


def hard_lines():
    lines = [line for group in HARD_LINES.values() for line in group]
    generator = random.Random(1)
    for _ in range(60):
        lines.append("".join(generator.choice(FUZZ_POOL) for _ in range(generator.randint(1, 60))))
    return lines


def write_lines(encode, path):
    with open(path, "w", encoding="ascii", newline="\n") as file:
        for text in hard_lines():
            file.write(json.dumps({"text": text, "ids": encode(text)}) + "\n")


def write_characters(encode, path, block=4096):
    """One line per block of code points: the first one, and the CRC-32 of the ids of "aCb" and "C" for each C."""
    with open(path, "w", encoding="ascii", newline="\n") as file:
        for first in range(0, 0x110000, block):
            crc = 0
            for c in range(first, first + block):
                if 0xD800 <= c < 0xE000:
                    continue
                for text in ("a" + chr(c) + "b", chr(c)):
                    crc = zlib.crc32((" ".join(map(str, encode(text))) + "\n").encode(), crc)
            file.write("%06X %08X\n" % (first, crc))


def main():
    model, output = map(pathlib.Path, sys.argv[1:3])
    tokenizer = load(model)

    def encode(text):
        return tokenizer.encode(text, add_special_tokens=False).ids

    write_lines(encode, output / "wordpiece_fixture.jsonl")
    write_characters(encode, output / "wordpiece_characters.txt")


if __name__ == "__main__":
    main()
