# SPDX-License-Identifier: MIT OR Apache-2.0
"""The content scanner of aegis-memory over the items of a file, one JSON text a line.

    aegis_scan.py ITEMS

Says `ready` and its version, then answers each line of its input with the seconds that each item
took, in order: the mean of enough runs to fill two milliseconds.
"""

import importlib.metadata
import json
import sys
import time
from types import SimpleNamespace

from aegis_memory.security.content_security import ContentSecurityScanner

SECONDS = 0.002

with open(sys.argv[1], encoding="utf-8") as lines:
    items = [json.loads(line) for line in lines]
scanner = ContentSecurityScanner(SimpleNamespace())


def runs(item, count):
    start = time.perf_counter()
    for _ in range(count):
        scanner.scan(item)
    return (time.perf_counter() - start) / count


def seconds(item):
    runs(item, 1)
    return runs(item, max(1, int(SECONDS / runs(item, 3))))


print("ready", importlib.metadata.version("aegis-memory"), flush=True)
for _ in sys.stdin:
    print(*(seconds(item) for item in items), flush=True)
