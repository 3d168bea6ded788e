"""Reads archives by warcio and fastwarc, and writes what is in them as lines of JSON.

Arguments: the folder of the readers, and files. An index of a file, FILE.cdxj, is checked against it.
"""

import json
import os
import sys

sys.path.insert(0, sys.argv[1])

from fastwarc.warc import ArchiveIterator as FastIterator  # noqa: E402
from fastwarc.warc import WarcRecordType  # noqa: E402
from warcio.archiveiterator import ArchiveIterator  # noqa: E402


def by_warcio(path):
    with open(path, "rb") as file:
        for record in ArchiveIterator(file, check_digests="raise"):
            header = record.rec_headers.get_header
            http = record.http_headers
            yield {
                "type": record.rec_type,
                "url": header("WARC-Target-URI"),
                "refers": header("WARC-Refers-To-Target-URI"),
                "truncated": header("WARC-Truncated"),
                "line": http.statusline if http and record.rec_type == "response" else None,
                "fields": [[n, v] for n, v in http.headers] if http else None,
                "content": record.content_stream().read().hex(),
            }


def by_fastwarc(path):
    with open(path, "rb") as file:
        for record in FastIterator(file, parse_http=True, record_types=WarcRecordType.any_type):
            is_response = record.headers.get("WARC-Type") == "response"
            yield {
                "type": record.headers.get("WARC-Type"),
                "url": record.headers.get("WARC-Target-URI"),
                "digest": not is_response or record.verify_payload_digest(),
                "content": record.reader.read().hex(),
            }


def by_index(path):
    with open(path + ".cdxj") as index, open(path, "rb") as file:
        lines = index.read().splitlines()
        assert lines == sorted(lines), "sorted"
        for line in lines:
            key, timestamp, text = line.split(" ", 2)
            entry = json.loads(text)
            assert entry["filename"] == os.path.basename(path), entry
            file.seek(int(entry["offset"]))
            record = next(iter(ArchiveIterator(file)))
            kind = "revisit" if entry["mime"] == "warc/revisit" else "response"
            assert record.rec_type == kind, record.rec_type
            assert record.rec_headers.get_header("WARC-Target-URI") == entry["url"]
            assert record.http_headers.get_statuscode() == entry["status"]
            assert record.rec_headers.get_header("WARC-Payload-Digest") == "sha1:" + entry["digest"]
            record.content_stream().read()
            yield {"key": key, "url": entry["url"]}


for path in sys.argv[2:]:
    read = {"file": os.path.basename(path)}
    read["warcio"] = list(by_warcio(path))
    read["fastwarc"] = list(by_fastwarc(path))
    read["index"] = list(by_index(path)) if os.path.exists(path + ".cdxj") else None
    print(json.dumps(read))
