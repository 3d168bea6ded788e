//! Input of any kind and length.

use super::super::rows::{ROW_BYTES_MAX, ROW_FIELDS_MAX};
use super::*;

#[test]
fn a_quote_that_is_not_closed_makes_one_row_of_all_that_follows() {
    let jobs = read(b"url\na\n\"b\nc\nd", |table| table);
    assert_eq!(
        faults(&jobs),
        ["-", "row 3 of the input (line 3): a quote is not closed, to the end of the input"]
    );
    let jobs = read(b"\"a\nb", |table| table.with_header(false));
    assert_eq!(
        faults(&jobs),
        ["row 1 of the input (line 1): a quote is not closed, to the end of the input"]
    );
}

#[test]
fn a_row_beyond_the_bounds_is_no_job_and_the_next_one_is() {
    let row = |bytes: usize| {
        let mut table = b"url\n".to_vec();
        table.extend(vec![b'x'; bytes]);
        table.extend(b"\nb\n");
        table
    };
    for step in [1000, usize::MAX] {
        let read = |table: &[u8]| {
            read_in_steps(table, step, Extent::Whole, |table| table).expect("a table")
        };
        assert_eq!(read(&row(ROW_BYTES_MAX))[0].url.len(), ROW_BYTES_MAX);
        let jobs = read(&row(ROW_BYTES_MAX + 1));
        assert_eq!(
            faults(&jobs),
            ["row 2 of the input (line 2): longer than 1 MiB; a quote may not be closed", "-"]
        );
        let jobs = read(&row(5 * ROW_BYTES_MAX));
        assert_eq!((jobs.len(), jobs[1].url.as_str()), (2, "b"));
        // And where it is the last one.
        let jobs = read(&row(5 * ROW_BYTES_MAX)[..3 * ROW_BYTES_MAX]);
        assert_eq!(jobs.len(), 1);
        let mut commas = b"url\n".to_vec();
        commas.extend(vec![b','; 2 * ROW_FIELDS_MAX]);
        commas.extend(b"\nb\n");
        let jobs = read(&commas);
        assert_eq!(faults(&jobs), ["row 2 of the input (line 2): more than 16384 fields", "-"]);
    }
}

#[test]
fn a_row_that_was_not_read_to_its_end_is_no_job() {
    let read = |input: &[u8], end| read_in_steps(input, 5, end, |table| table).expect("a table");
    let jobs = read(b"url\na\nhttp://b", Extent::Interrupted);
    assert_eq!((jobs.len(), jobs[1].extent), (2, Some(Extent::Interrupted)));
    let jobs = read(b"url\na\n", Extent::Interrupted);
    assert_eq!(urls(&jobs), ["a"]);
    let jobs = read(b"url\na\nhttp://b", Extent::InputFailed);
    assert_eq!(faults(&jobs), ["-", "row 3 of the input (line 3): the input failed within it"]);
}

/// Random bytes of an alphabet, up to `max` of them, the same in each run.
fn random_tables(alphabet: &[u8], max: u32, tables: usize) -> impl Iterator<Item = Vec<u8>> {
    let mut state = 0x1234_5678_u32;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state
    };
    (0..tables).map(move |_| {
        let length = random() % max;
        (0..length).map(|_| alphabet[random() as usize % alphabet.len()]).collect()
    })
}

#[test]
fn no_bytes_make_it_panic_and_pieces_change_nothing() {
    for table in random_tables(b"\"\",\n\r\nax\xef\xbb\xbf\xc3;\t", 40, 2_000) {
        for (has_header, begin) in [(true, &b""[..]), (true, b"url,b\n"), (false, b"")] {
            let table = [begin, &table].concat();
            let [bytes, whole] = [1, usize::MAX].map(|step| {
                let read = read_in_steps(&table, step, Extent::Whole, |table| {
                    table.with_header(has_header).keep_columns(true)
                });
                read.map_err(|error| error.to_string())
            });
            assert_eq!(bytes, whole, "{table:?}");
        }
    }
}

#[test]
fn rows_are_those_that_an_independent_reader_finds() {
    for table in random_tables(b"\",\nab\r", 30, 2_000) {
        let mut reader =
            csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(&table[..]);
        let expected = reader.byte_records().count();
        let jobs = read_in_steps(&table, 4, Extent::Whole, |table| table.with_header(false));
        assert_eq!(jobs.expect("a table").len(), expected, "{:?}", String::from_utf8_lossy(&table));
    }
}
