# SPDX-License-Identifier: LGPL-3.0-or-later
"""Pages of docs/ and the README: their links lead somewhere, the first sentence names the reader, and no sentence of running text
has more than 25 words (tables and blocks of code are no running text)."""
import os
import re

from tree import Finding

LONGEST = 25
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"(?m)^#+ (.*)$")
# A heading that a sentence quotes behind a link to its page.
QUOTED = re.compile(r"\]\(([\w./]+\.md)\), \"([^\"]+)\"")
ITEM = re.compile(r"^\s*(?:\d+\.|[-*])\s+")
END = re.compile(r"(?<=[.!?:;])(?:\*\*)?\s+")


def pages(tree):
    return [path for path in tree.files() if path.endswith(".md") and (path.startswith("docs/") or path == "README.md")]


def anchors(text):
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in HEADING.findall(text)}


def paragraphs(text):
    """Number of the first line, and words as one line."""
    block, start, words = False, 0, ""
    for number, line in enumerate(text.split("\n") + [""], 1):
        fence = line.lstrip().startswith("```")
        block ^= fence
        outside = fence or block or line.lstrip().startswith("|") or line.startswith(("#", "<!--", "    ")) and not ITEM.match(line)
        if outside or not line.strip() or ITEM.match(line):
            if words:
                yield start, words
            words = ""
        if not outside and line.strip():
            start = start if words else number
            words += " " + ITEM.sub("", line).strip()


def length(sentence):
    plain = re.sub(r"`[^`]*`", "CODE", LINK.sub("]", sentence))
    return sum(1 for word in plain.split() if re.search(r"\w", word))


def check(tree):
    findings = []
    for page in pages(tree):
        text = tree.text(page)
        texts = list(paragraphs(text))
        if not texts or not texts[0][1].strip().startswith("For "):
            findings.append(Finding(page, 1, "the first sentence names the reader: For admins …, For developers …"))
        for number, words in texts:
            for sentence in END.split(words.strip()):
                if length(sentence) > LONGEST:
                    findings.append(Finding(page, number, f"a sentence of {length(sentence)} words, at most {LONGEST}: {sentence[:60]}…"))
        for match in LINK.finditer(text):
            path, _, anchor = match.group(1).partition("#")
            if path.startswith(("http:", "https:", "mailto:")):
                continue
            target = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
            line = text.count("\n", 0, match.start()) + 1
            if not tree.exists(target):
                findings.append(Finding(page, line, f"there is no {target}"))
            elif anchor and anchor not in anchors(tree.text(target)):
                findings.append(Finding(page, line, f"{target} has no heading #{anchor}"))
        for match in QUOTED.finditer(text):
            target = os.path.normpath(os.path.join(os.path.dirname(page), match.group(1)))
            if tree.exists(target) and not any(match.group(2) in heading for heading in HEADING.findall(tree.text(target))):
                line = text.count("\n", 0, match.start()) + 1
                findings.append(Finding(page, line, f"{target} has no heading \"{match.group(2)}\""))
    return findings
