"""Reads and writes tables by pyarrow and DuckDB.

Arguments: the folder of both, `read` or `write`, and files or a folder. What was read is written as lines of JSON, one for
each file.
"""

import datetime
import json
import os
import sys

sys.path.insert(0, sys.argv[1])

import duckdb  # noqa: E402
import pyarrow as pa  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402


def plain(value):
    if isinstance(value, (bytes, bytearray)):
        return value.hex()
    if isinstance(value, datetime.datetime):
        return value.astimezone(datetime.timezone.utc).isoformat()
    if isinstance(value, dict):
        return {name: plain(field) for name, field in value.items()}
    if isinstance(value, list):
        return [plain(element) for element in value]
    return value


def read(path):
    file = pq.ParquetFile(path)
    metadata = file.metadata
    table = file.read()
    columns = {}
    for group in range(metadata.num_row_groups):
        for index in range(metadata.num_columns):
            column = metadata.row_group(group).column(index)
            about = columns.setdefault(column.path_in_schema, {"codecs": [], "encodings": []})
            about["codecs"].append(column.compression)
            about["encodings"].extend(column.encodings)
            about["has_statistics"] = column.is_stats_set
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    described = connection.execute("DESCRIBE SELECT * FROM read_parquet(?)", [path]).fetchall()
    rows = connection.execute("SELECT * FROM read_parquet(?)", [path])
    names = [column[0] for column in rows.description]
    return {
        "groups": [metadata.row_group(n).num_rows for n in range(metadata.num_row_groups)],
        "columns": columns,
        "pyarrow_types": {field.name: str(field.type) for field in table.schema},
        "pyarrow": [plain(row) for row in table.to_pylist()],
        "duckdb_types": {row[0]: row[1] for row in described},
        "duckdb": [plain(dict(zip(names, row))) for row in rows.fetchall()],
    }


def write(folder):
    rows = 3000
    urls = [None if n == 7 else f" http://127.0.0.1:1/{n} " for n in range(rows)]
    when = datetime.datetime(2026, 11, 26, 4, 30, tzinfo=datetime.timezone.utc)
    table = pa.table(
        {
            "link": pa.array(urls),
            "sku": pa.array([None if n % 2 else n for n in range(rows)], pa.int64()),
            "title": pa.array([f"ü {n}" if n % 3 else None for n in range(rows)], pa.large_string()),
            "kind": pa.array([f"k{n % 3}" for n in range(rows)]).dictionary_encode(),
            "price": pa.array([n / 4 for n in range(rows)], pa.float32()),
            "count": pa.array([2**64 - 1] * rows, pa.uint64()),
            "small": pa.array([-1] * rows, pa.int8()),
            "sold": pa.array([n % 2 == 0 for n in range(rows)]),
            "day": pa.array([when.date()] * rows),
            "nano": pa.array([when] * rows, pa.timestamp("ns", "UTC")),
            "local": pa.array([when.replace(tzinfo=None)] * rows, pa.timestamp("us")),
            "paid": pa.array([1234] * rows, pa.int32()).cast(pa.decimal128(12, 2)),
            "blob": pa.array([b"\xff"] * rows),
            "tags": pa.array([["a", "b"]] * rows),
            "place": pa.array([{"x": 1}] * rows),
            "nothing": pa.nulls(rows),
        }
    )
    codecs = ["none", "snappy", "gzip", "zstd", "brotli", "lz4"]
    for codec in codecs:
        pq.write_table(
            table,
            os.path.join(folder, f"arrow-{codec}.parquet"),
            compression=codec,
            row_group_size=1000,
            data_page_size=4000,
            store_decimal_as_integer=True,
            data_page_version="2.0" if codec in ("zstd", "lz4") else "1.0",
            use_deprecated_int96_timestamps=codec == "gzip",
        )
    connection = duckdb.connect()
    connection.register("jobs", table.drop_columns(["nothing"]))
    for codec in ["uncompressed", "snappy", "gzip", "zstd", "brotli", "lz4_raw"]:
        path = os.path.join(folder, f"duck-{codec}.parquet")
        options = f"FORMAT parquet, COMPRESSION {codec}, ROW_GROUP_SIZE 2048"
        connection.execute(f"COPY jobs TO '{path}' ({options})")


for path in sys.argv[3:]:
    if sys.argv[2] == "read":
        print(json.dumps(read(path)))
    else:
        write(path)
