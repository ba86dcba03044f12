#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""config/site/make_site makes the documentation site of this tree, and refuses a tree of two pages for each mistake in it."""
import os
import shutil
import subprocess
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# A tree with each kind of link: to a page, a heading, a heading of the same page, and a file outside of docs/.
SMALL = {
    "README.md": "# Overview\n\n[Other](docs/other.md#second-part)\n",
    "CHANGELOG.md": "# Changes\n",
    "SECURITY.md": "# Weaknesses\n",
    "config/made/file.conf": "x\n",
    "docs/index.md": "# Who are you?\n\n[Other](other.md), [made](../config/made/file.conf), [overview](../README.md)\n",
    "docs/other.md": "# Other\n\n## Second part\n\n[Above](#other)\n",
    "config/site/mkdocs.yml": "site_name: Small\ntheme:\n  name: mkdocs\nuse_directory_urls: false\nnav:\n  - First: index.md\n"
                              "  - More:\n      - Other: other.md\n      - Overview: overview.md\n      - Changes: CHANGELOG.md\n      - Weak: SECURITY.md\n",
}


def make(root, site):
    return subprocess.run([os.path.join(root, "config/site/make_site"), site], capture_output=True, text=True, check=False)


class Site(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.site = os.path.join(self.folder.name, "site")

    def small(self, **changed):
        """Makes the site of SMALL, where `changed` replaces texts: file=(old, new)."""
        root = os.path.join(self.folder.name, "tree")
        for name, text in SMALL.items():
            old, new = changed.get(os.path.basename(name).split(".")[0], ("", ""))
            self.assertIn(old, text)
            path = os.path.join(root, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text.replace(old, new) if old else text)
        for name in ("make_site", "check_site"):
            shutil.copy(os.path.join(ROOT, "config/site", name), os.path.join(root, "config/site"))
        return make(root, self.site)

    def refused(self, done, *words):
        self.assertNotEqual(done.returncode, 0, done.stdout)
        for word in words:
            self.assertIn(word, done.stderr)
        self.assertFalse(os.path.exists(self.site))

    def test_the_site_of_this_tree(self):
        done = make(ROOT, self.site)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(os.path.join(self.site, "index.html"), encoding="utf-8") as file:
            first = file.read()
        for answer in ("who are you?", "I have a project", "I want a project", "I want a grid without a web site", "I write a policy"):
            # In the text and, but for the heading, in the menu.
            self.assertGreaterEqual(first.count(answer), 2 if answer[0] == "I" else 1, answer)
        for name in os.listdir(os.path.join(ROOT, "docs")):
            page, kind = os.path.splitext(name)
            if kind == ".md":
                self.assertIn(f'href="{page}.html"', first)
            else:  # a picture of a page
                self.assertTrue(os.path.exists(os.path.join(self.site, name)), name)

    def test_a_small_one(self):
        done = self.small()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(os.path.exists(os.path.join(self.site, "config/made/file.conf")))

    def test_a_link_to_no_heading(self):
        self.refused(self.small(README=("#second-part", "#third-part")), "overview.html", "other.html#third-part")

    def test_a_link_to_no_heading_of_its_page(self):
        self.refused(self.small(other=("#other", "#none")), "other.html", "#none")

    def test_a_link_to_no_page(self):
        self.refused(self.small(index=("other.md", "gone.md")), "gone.md")

    def test_a_page_that_the_menu_lacks(self):
        self.refused(self.small(mkdocs=("      - Other: other.md\n", "")), "other.md")

    def test_a_page_that_the_menu_mentions_only(self):
        self.refused(self.small(mkdocs=("      - Other: other.md\n", "#     - Other: other.md\n")), "other.html")


unittest.main(verbosity=1)
