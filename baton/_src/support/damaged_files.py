"""What is raised where the bytes of a file were changed: by readers of archives, of packed data, of the heads of
arrays. Anything else is a fault of the program that reads.
"""

from __future__ import annotations

import tokenize
import zipfile
import zlib

DAMAGE = (ValueError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error, tokenize.TokenError)
