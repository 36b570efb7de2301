#!/usr/bin/env python3
"""The benchmarks' reference data: N orders, a JSON object a line, about 98 bytes each.

usage: lines.py [N]     (2,000,000 if N is left out)

The numbers come from a generator with a fixed seed, so that the bytes are the
same on every machine and in every run. The order of the draws is part of the
data: customer, sku, qty, price.
"""

import random
import sys

DEFAULT = 2_000_000
SEED = 7
FIRST_TS = 1_750_000_000_000  # milliseconds since 1970
TS_STEP = 37
PER_WRITE = 10_000  # lines


def order(i: int, rng: random.Random) -> str:
    customer = rng.randrange(100_000)
    sku = rng.randrange(10_000)
    qty = rng.randrange(1, 9)
    price = rng.random() * 500
    return (
        f'{{"order_id":{i},"customer":"c{customer:05d}","sku":"SKU-{sku:04d}",'
        f'"qty":{qty},"price":{price:.2f},"ts":{FIRST_TS + i * TS_STEP}}}\n'
    )


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT
    rng = random.Random(SEED)
    for first in range(0, count, PER_WRITE):
        last = min(first + PER_WRITE, count)
        sys.stdout.write("".join(order(i, rng) for i in range(first, last)))


if __name__ == "__main__":
    main()
