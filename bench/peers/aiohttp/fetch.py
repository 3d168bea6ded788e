"""aiohttp as a client under the contract of `stoop fetch`.

URLs come on standard input; for each, `url,code,start_time,duration,length` goes to standard output
in the order of completion. One session, as many tasks as there are slots, uvloop, aiodns as resolver.
It has HTTP/1.1 only; it requests and decodes no compression; ten redirects, one deadline up to the
last byte.
"""

import argparse
import asyncio
import csv
import io
import ssl
import sys
import time
from datetime import datetime, timezone

import aiohttp
import uvloop

PIECE_BYTES = 64 * 1024


def settings():
    parser = argparse.ArgumentParser()
    parser.add_argument("--concurrency", type=int, default=100)
    parser.add_argument("--timeout", type=float, default=5)
    parser.add_argument("--user-agent", default="aiohttp")
    parser.add_argument("--cacert", help="trust these PEM certificates and no others")
    parser.add_argument("--dns", help="IP:PORT of the name server to ask")
    return parser.parse_args()


def connector(given):
    trusted = ssl.create_default_context(cafile=given.cacert)
    resolver = None
    if given.dns:
        host, port = given.dns.rsplit(":", 1)
        resolver = aiohttp.AsyncResolver(
            nameservers=[host], udp_port=int(port), tcp_port=int(port)
        )
    return aiohttp.TCPConnector(limit=given.concurrency, ssl=trusted, resolver=resolver)


def targets():
    for line in sys.stdin:
        target = line.strip()
        if target and not target.startswith("#"):
            yield target


async def exchange(session, target):
    url = target if "://" in target else f"https://{target}"
    length = 0
    async with session.get(url) as response:
        async for piece in response.content.iter_chunked(PIECE_BYTES):
            length += len(piece)
        return response.status, length


async def fetch(session, target):
    start = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
    clock = time.monotonic()
    try:
        code, length = await exchange(session, target)
    except asyncio.TimeoutError:
        code, length = "timeout", 0
    except aiohttp.InvalidURL:
        code, length = "invalid_url", 0
    except Exception as error:  # Every URL has a line.
        code, length = type(error).__name__, 0
    duration = int((time.monotonic() - clock) * 1000)
    name = quoted(target) if set(target) & set(',"') else target
    sys.stdout.write(f"{name},{code},{start.replace('+00:00', 'Z')},{duration},{length}\n")


def quoted(field):
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow([field])
    return text.getvalue()


async def slot(session, waiting):
    for target in waiting:
        await fetch(session, target)


async def main(given):
    headers = {"User-Agent": given.user_agent}
    async with aiohttp.ClientSession(
        connector=connector(given),
        headers=headers,
        skip_auto_headers=["Accept-Encoding"],
        auto_decompress=False,
        timeout=aiohttp.ClientTimeout(total=given.timeout),
    ) as session:
        waiting = targets()
        await asyncio.gather(*(slot(session, waiting) for _ in range(given.concurrency)))


if __name__ == "__main__":
    uvloop.run(main(settings()))
    sys.stdout.flush()
