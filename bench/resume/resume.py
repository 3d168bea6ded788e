"""Kills `stoop fetch --run` at random moments, and reads what it wrote by other programs' readers.

Arguments: the command, a folder for the runs, the folder of installed readers, how many kills, how many URLs. It prints
a line of JSON for each format: kills; urls; readers, those that read it; foreign, how many of them are other projects';
missing and twice, URLs with no or several records by the reader that found most of either; again, URLs that were done by the
journal when a process began and were asked for once more; and repeated, requests beyond one for each URL.
"""

import asyncio
import collections
import csv
import glob
import json
import os
import random
import re
import signal
import subprocess
import sys
import tarfile
import threading
import time

STOOP, FOLDER, READERS, KILLS, URLS = *sys.argv[1:4], int(sys.argv[4]), int(sys.argv[5])
CONCURRENCY = 50
sys.path[:0] = [path for path in glob.glob(READERS + "/*") if os.path.isdir(path)]

asked = []


async def serve(reader, writer):
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            number = int(head.split(b" ", 2)[1][1:])
            asked.append(number)
            await asyncio.sleep(random.random() * 0.02)
            body = b"<p>page %d</p>\n" % number * 20
            status = b"503 Busy" if number % 10 == 3 else b"200 OK"
            writer.write(b"HTTP/1.1 %s\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n" % (status, len(body)) + body)
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


def start_server():
    loop, port = asyncio.new_event_loop(), []
    ready = threading.Event()

    async def listen():
        server = await asyncio.start_server(serve, "127.0.0.1", 0, backlog=1000)
        port.append(server.sockets[0].getsockname()[1])
        ready.set()
        await server.serve_forever()

    threading.Thread(target=lambda: loop.run_until_complete(listen()), daemon=True).start()
    ready.wait()
    return port[0]


def csv_rows(files):
    return [row[0] for file in files for row in csv.reader(open(file, newline=""))]


def csv_duckdb(files):
    import duckdb

    names = ",".join("'%s'" % file for file in files)
    query = f"select column0 from read_csv([{names}], header=false, all_varchar=true)"
    return [row[0] for row in duckdb.sql(query).fetchall()]


def json_lines(files):
    return [json.loads(line)["url"] for file in files for line in open(file)]


def json_duckdb(files):
    import duckdb

    names = ",".join("'%s'" % file for file in files)
    query = f"select url from read_json([{names}], format='newline_delimited', columns={{url: 'varchar'}})"
    return [row[0] for row in duckdb.sql(query).fetchall()]


def by_warcio(files):
    from warcio.archiveiterator import ArchiveIterator

    found = []
    for file in files:
        with open(file, "rb") as opened:
            for record in ArchiveIterator(opened, check_digests="raise"):
                content = record.content_stream().read()
                if record.rec_type == "metadata":
                    found.append(json.loads(content)["url"])
    return found


def by_fastwarc(files):
    from fastwarc.warc import ArchiveIterator, WarcRecordType

    found = []
    for file in files:
        with open(file, "rb") as opened:
            for record in ArchiveIterator(opened, record_types=WarcRecordType.metadata):
                found.append(json.loads(record.reader.read())["url"])
    return found


def by_cdxj(files):
    lines = [line for file in files for line in open(file + ".cdxj")]
    return [json.loads(line.split(" ", 2)[2])["url"] for line in lines]


def by_tarfile(files):
    found = []
    for file in files:
        with tarfile.open(file) as opened:
            found += [json.load(opened.extractfile(it))["url"] for it in opened if it.name.endswith(".json")]
    return found


def parquet_pyarrow(files):
    import pyarrow.parquet

    return [url for file in files for url in pyarrow.parquet.read_table(file, columns=["url"])["url"].to_pylist()]


def parquet_duckdb(files):
    import duckdb

    names = ",".join("'%s'" % file for file in files)
    return [row[0] for row in duckdb.sql(f"select url from read_parquet([{names}])").fetchall()]


# Those that are another project's program.
FOREIGN = [csv_duckdb, json_duckdb, by_warcio, by_fastwarc, by_tarfile, parquet_pyarrow, parquet_duckdb]

FORMATS = [
    ("csv", "one file", [csv_rows, csv_duckdb]),
    ("jsonl", "jsonl", [json_lines, json_duckdb]),
    ("warc", "warc.gz", [by_warcio, by_fastwarc, by_cdxj]),
    ("tar", "tar", [by_tarfile]),
    ("parquet", "parquet", [parquet_pyarrow, parquet_duckdb]),
]


def asked_again(since, done):
    """How many of the `done` URLs of the journal were asked for after the first `since` requests.

    What was asked for before and is not done has to be asked for again, so that the others are what is too much.
    """
    before = set(asked[:since])
    return len(before & set(asked[since:])) - (len(before) - done)


def run(format, extension, readers, port):
    folder = os.path.join(FOLDER, format)
    os.makedirs(folder)
    urls = [f"http://127.0.0.1:{port}/{number}" for number in range(URLS)]
    with open(os.path.join(folder, "urls"), "w") as file:
        file.writelines(url + "\n" for url in urls)
    command = [STOOP, "fetch", "--no-env", "-i", "urls", "-f", format, "--run", "run", "--no-progress"]
    command += ["--no-politeness", "-c", str(CONCURRENCY), "--summary", "none"]
    command += ["-o", "out.csv"] if extension == "one file" else ["--file-size", "256KiB"]
    asked.clear()
    kills, sessions = 0, []
    while True:
        since = len(asked)
        process = subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True)
        if kills < KILLS:
            time.sleep(random.uniform(0.005, 0.4))
            process.send_signal(signal.SIGKILL)
        told = process.communicate()[1]
        resumed = re.search(r"resumed: (\d+) URLs", told)
        if resumed:
            sessions.append((since, int(resumed[1])))
        if process.returncode != -signal.SIGKILL:
            break
        kills += 1
    assert process.returncode == 0, told
    again = sum(asked_again(since, done) for since, done in sessions)
    files = [os.path.join(folder, "out.csv")]
    if extension != "one file":
        files = sorted(glob.glob(os.path.join(folder, "run", "part-*." + extension)))
    missing = twice = 0
    used = []
    for reader in readers:
        try:
            found = collections.Counter(reader(files))
        except ImportError as error:
            print(f"{reader.__name__} is skipped: {error}", file=sys.stderr)
            continue
        used.append(reader)
        missing = max(missing, sum(url not in found for url in urls))
        twice = max(twice, sum(count - 1 for count in found.values()))
    requests = len(asked)
    print(json.dumps({
        "format": format, "kills": kills, "urls": URLS, "files": len(files), "missing": missing, "twice": twice,
        "readers": [reader.__name__ for reader in used], "foreign": sum(reader in FOREIGN for reader in used),
        "again": again, "repeated": requests - URLS,
    }), flush=True)


port = start_server()
for format in FORMATS:
    run(*format, port)
