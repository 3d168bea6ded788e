"""Saves pages in a web archive as one would write it in Python: aiohttp on uvloop, and warcio.

Arguments: the archive, `gzip` or `none`, and the concurrency. URLs come on standard input; each gets a request record and a
response record, as warcio makes them.
"""

import asyncio
import io
import sys

import aiohttp
import uvloop
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter


async def save(session, writer, url):
    async with session.get(url) as response:
        content = await response.read()
        status = f"{response.status} {response.reason}"
        headers = [(name, value) for name, value in response.headers.items()]
        sent = [(name, value) for name, value in response.request_info.headers.items()]
    head = StatusAndHeaders(status, headers, protocol="HTTP/1.1")
    record = writer.create_warc_record(url, "response", io.BytesIO(content), http_headers=head)
    line = StatusAndHeaders(f"GET {response.url.raw_path} HTTP/1.1", sent, is_http_request=True)
    request = writer.create_warc_record(url, "request", http_headers=line)
    writer.write_request_response_pair(request, record)


async def slot(session, writer, urls):
    for url in urls:
        await save(session, writer, url)


async def main(archive, compression, concurrency):
    with open(archive, "wb") as file:
        writer = WARCWriter(file, gzip=compression == "gzip", warc_version="1.1")
        urls = (line.strip() for line in sys.stdin)
        connector = aiohttp.TCPConnector(limit=concurrency)
        async with aiohttp.ClientSession(connector=connector, auto_decompress=False) as session:
            await asyncio.gather(*(slot(session, writer, urls) for _ in range(concurrency)))


uvloop.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
