# SPDX-License-Identifier: MIT OR Apache-2.0
"""Int8 dot products by simsimd over the bytes of a segment, on one thread.

    simsimd_scan.py SEGMENT QUERY ROWS DIM SCANS

Says `ready`, then answers each line of its input with one line: `scan` with the median seconds
of SCANS runs, `best` with the best 40 rows by dot product times scale.
"""

import statistics
import sys
import time

import numpy
import simsimd

segment, query, rows, dim, scans = sys.argv[1:3] + [int(a) for a in sys.argv[3:6]]
data = numpy.fromfile(segment, dtype=numpy.int8)
values = data[: rows * dim].reshape(rows, dim)
scales = numpy.frombuffer(data[rows * dim :].tobytes(), dtype="<f4").astype(numpy.float64)
exact = numpy.fromfile(query, dtype="<f4").astype(numpy.float64)
levels = exact * 127.0 / numpy.abs(exact).max()
levels = numpy.trunc(levels + numpy.copysign(0.5, levels)).astype(numpy.int8).reshape(1, dim)


def scan():
    start = time.perf_counter()
    simsimd.cdist(levels, values, metric="dot", threads=1)
    return time.perf_counter() - start


print("ready", flush=True)
for line in sys.stdin:
    if line.strip() == "scan":
        print(statistics.median(scan() for _ in range(scans)), flush=True)
    else:
        dots = numpy.asarray(simsimd.cdist(levels, values, metric="dot", threads=1)).ravel()
        best = numpy.lexsort((numpy.arange(rows), -(dots * scales)))[:40]
        print(*best, flush=True)
