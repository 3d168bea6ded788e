//! Whether what is to be written can go where it is to be written: by its format, its compression and the name of the file.

use std::path::Path;

use super::args::FetchArgs;
use super::content_args::name_of;
use super::output::RecordOutput;
use super::output_args::{CompressionName, LineFormat};
use crate::failure::CommandFailure;

/// How names of compressed files end, what compressed them, and the program that does so in a pipe.
const COMPRESSED: [(&str, &str, &str); 9] = [
    (".gz", "gzip", "gzip"),
    (".tgz", "gzip", "gzip"),
    (".zst", "zstd", "zstd"),
    (".zstd", "zstd", "zstd"),
    (".bz2", "bzip2", "bzip2"),
    (".xz", "xz", "xz"),
    (".br", "Brotli", "brotli"),
    (".lz4", "LZ4", "lz4"),
    (".zip", "zip", "zip"),
];

/// Whether records of a format can go to an output.
///
/// # Errors
/// [`CommandFailure::Usage`], with what to do instead.
pub(super) fn check(
    format: LineFormat,
    output: &RecordOutput,
    is_terminal: bool,
    args: &FetchArgs,
) -> Result<(), CommandFailure> {
    let by_options = options_fault(format, output, is_terminal, args).map(str::to_owned);
    let by_name = || match output {
        RecordOutput::File(path) => name_fault(format, path, args.output.compression),
        RecordOutput::Stdout | RecordOutput::Folder(_) | RecordOutput::Nowhere => None,
    };
    by_options.or_else(by_name).map_or(Ok(()), |fault| Err(CommandFailure::Usage(fault)))
}

/// What is wrong with the options.
fn options_fault(
    format: LineFormat,
    output: &RecordOutput,
    is_terminal: bool,
    args: &FetchArgs,
) -> Option<&'static str> {
    let (content, args, input) = (&args.content, &args.output, &args.input);
    let is_folder = matches!(output, RecordOutput::Folder(_));
    let has_no_meta = matches!(format, LineFormat::Csv | LineFormat::Pretty);
    Some(match format {
        LineFormat::Warc | LineFormat::Tar if is_terminal => {
            "an archive is not for a terminal: add -o FILE, or -o FOLDER/"
        }
        LineFormat::Parquet if is_terminal => {
            "parquet is not for a terminal: add -o FILE, or -o FOLDER/"
        }
        LineFormat::Pretty if is_folder => {
            "-f pretty is for people, and one file: use csv, jsonl, warc, tar or parquet"
        }
        LineFormat::Warc | LineFormat::Tar if content.skips() => {
            "--no-content leaves out what -f warc and -f tar are for"
        }
        _ if args.csv_header && format != LineFormat::Csv => "--csv-header is for -f csv",
        _ if content.has_digests() && has_no_meta => {
            "--digest needs --format jsonl: lines of csv and pretty have no place for it"
        }
        _ if input.keep_columns && has_no_meta => {
            "--keep-columns is for formats with the field meta: add -f jsonl, parquet, tar or warc, as lines of csv and \
             pretty have no place for it"
        }
        _ if args.no_body && format != LineFormat::Parquet => {
            "--no-body is for tables: add -f parquet"
        }
        _ if !is_known_compression(args.compression, format) => {
            "--compression is zstd or none for -f parquet, gzip or none for -f warc"
        }
        _ if args.revisits && format != LineFormat::Warc => {
            "--revisits is for archives: add -f warc"
        }
        _ if args.tar_key.is_some() && format != LineFormat::Tar => "--tar-key is for -f tar",
        _ if args.file_size.is_some() && !is_folder => {
            "--file-size is for files in a folder: -o FOLDER/"
        }
        _ => return None,
    })
}

/// Whether a format can be compressed so.
fn is_known_compression(name: Option<CompressionName>, format: LineFormat) -> bool {
    match name {
        None => true,
        Some(CompressionName::Zstd) => format == LineFormat::Parquet,
        Some(CompressionName::Gzip) => format == LineFormat::Warc,
        Some(CompressionName::None) => matches!(format, LineFormat::Parquet | LineFormat::Warc),
    }
}

/// The format that the name of an output promises, compressed or not.
pub(super) fn format_of_name(output: &RecordOutput) -> Option<LineFormat> {
    let RecordOutput::File(path) = output else { return None };
    let name = path.file_name()?.to_str()?.to_ascii_lowercase();
    promised(ending(&name).0)
}

/// How a name in small letters ends, and what has compressed it: .tgz is .tar.gz in one word.
fn ending(name: &str) -> (&str, Option<&'static (&'static str, &'static str, &'static str)>) {
    let packed = COMPRESSED.iter().find_map(|it| Some((name.strip_suffix(it.0)?, it)));
    match packed {
        Some((_, it)) if it.0 == ".tgz" => ("tar", Some(it)),
        Some((bare, it)) => (extension(bare), Some(it)),
        None => (extension(name), None),
    }
}

/// What follows the last point of a name.
fn extension(name: &str) -> &str {
    name.rsplit_once('.').map_or("", |(_, end)| end)
}

/// The format of names that end so.
fn promised(end: &str) -> Option<LineFormat> {
    Some(match end {
        "csv" => LineFormat::Csv,
        "jsonl" | "ndjson" | "json" => LineFormat::Jsonl,
        "warc" => LineFormat::Warc,
        "tar" => LineFormat::Tar,
        "parquet" => LineFormat::Parquet,
        _ => return None,
    })
}

/// What the name of a file says that is not so.
fn name_fault(
    format: LineFormat,
    path: &Path,
    compression: Option<CompressionName>,
) -> Option<String> {
    let name = path.file_name()?.to_str()?.to_ascii_lowercase();
    let (end, packed) = ending(&name);
    end_fault(format, path, end).or_else(|| match packed {
        Some(packed) => packed_fault(format, path, packed, compression),
        None if end == "warc" && compression == Some(CompressionName::Gzip) => {
            let path = path.display();
            Some(format!(
                "the name {path} is that of an archive that is not compressed: write '-o {path}.gz', or leave \
                 --compression out"
            ))
        }
        None => None,
    })
}

/// Why a file of this format cannot have a name that ends so.
fn end_fault(format: LineFormat, path: &Path, end: &str) -> Option<String> {
    let (shown, written) = (path.display(), name_of(&format));
    match end {
        "tsv" => {
            return Some(format!(
                "the name {shown} promises tabs, and {written} is written: no format has them; '-f csv' has commas"
            ));
        }
        "html" | "htm" => {
            return Some(format!(
                "the name {shown} is that of a page, and lines of {written} are written, one for each URL: '--save DIR' \
                 saves content, 'stoop get' one page, and '--report {shown}' a report of the run"
            ));
        }
        _ => {}
    }
    let promised = promised(end).filter(|promised| *promised != format)?;
    let promised = name_of(&promised);
    Some(format!(
        "the name {shown} promises {promised}, and {written} is written: write '-f {promised}', or to another name"
    ))
}

/// Why a file of this format cannot have a name of what is compressed.
fn packed_fault(
    format: LineFormat,
    path: &Path,
    (end, packed, program): &(&str, &str, &str),
    compression: Option<CompressionName>,
) -> Option<String> {
    let shown = path.display();
    let bare = shown.to_string();
    let bare = bare.get(..bare.len() - end.len()).unwrap_or(&bare);
    let bare = if *end == ".tgz" { format!("{bare}.tar") } else { bare.to_owned() };
    Some(match format {
        LineFormat::Warc if *packed == "gzip" => {
            if compression != Some(CompressionName::None) {
                return None;
            }
            format!(
                "the name {shown} promises gzip, and --compression none writes none: write '-o {bare}', or leave \
                 --compression out"
            )
        }
        LineFormat::Warc => format!(
            "the name {shown} promises {packed}, and an archive is compressed by gzip: write '-o {bare}.gz'"
        ),
        LineFormat::Parquet => format!(
            "the name {shown} promises {packed}, and parquet is compressed within: write '-o {bare}'"
        ),
        LineFormat::Csv | LineFormat::Jsonl | LineFormat::Pretty | LineFormat::Tar => {
            let format = name_of(&format);
            format!(
                "the name {shown} promises {packed}, and {format} is written as it is: write '-o {bare}', or in place of \
                 -o '-f {format} | {program} > {shown}'"
            )
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(format: LineFormat, name: &str, compression: Option<CompressionName>) -> String {
        name_fault(format, Path::new(name), compression).unwrap_or_default()
    }

    #[test]
    fn a_name_tells_the_format_where_nothing_else_does() {
        use LineFormat::{Csv, Jsonl, Parquet, Tar, Warc};
        for (name, format) in [
            ("results.json", Some(Jsonl)),
            ("d/A.NDJSON", Some(Jsonl)),
            ("a.jsonl.gz", Some(Jsonl)),
            ("a.csv", Some(Csv)),
            ("a.warc.gz", Some(Warc)),
            ("a.tar", Some(Tar)),
            ("a.TGZ", Some(Tar)),
            ("a.b.parquet", Some(Parquet)),
            ("out", None),
            ("json", None),
            ("a.txt", None),
        ] {
            assert_eq!(format_of_name(&RecordOutput::File(name.into())), format, "{name}");
        }
        assert_eq!(format_of_name(&RecordOutput::Folder("a.json/".into())), None);
    }

    #[test]
    fn a_name_promises_what_is_written() {
        use LineFormat::{Csv, Jsonl, Parquet, Pretty, Tar, Warc};
        for (format, name, compression) in [
            (Csv, "a.csv", None),
            (Csv, "a", None),
            (Csv, "a.txt", None),
            (Csv, "a.parquet/lines", None),
            (Csv, ".gitignore", None),
            (Jsonl, "a.jsonl", None),
            (Jsonl, "a.NDJSON", None),
            (Jsonl, "a.json", None),
            (Pretty, "a.log", None),
            (Warc, "a.warc", None),
            (Warc, "a.warc.gz", None),
            (Warc, "a.gz", Some(CompressionName::Gzip)),
            (Warc, "a.warc", Some(CompressionName::None)),
            (Tar, "a.tar", None),
            (Parquet, "a.parquet", Some(CompressionName::None)),
            (Parquet, "a.b.parquet", None),
        ] {
            assert_eq!(fault(format, name, compression), "", "{format:?} {name}");
        }
        for (format, name, compression, expected) in [
            (Csv, "a.jsonl", None, "promises jsonl, and csv is written: write '-f jsonl'"),
            (Csv, "d/A.PARQUET", None, "write '-f parquet'"),
            (Jsonl, "a.csv", None, "write '-f csv'"),
            (Pretty, "a.csv", None, "write '-f csv'"),
            (Jsonl, "a.warc.gz", None, "write '-f warc'"),
            (Parquet, "a.tar", None, "write '-f tar'"),
            (Csv, "a.tsv", None, "commas"),
            (Csv, "a.html", None, "--save DIR"),
            (
                Csv,
                "a.csv.gz",
                None,
                "write '-o a.csv', or in place of -o '-f csv | gzip > a.csv.gz'",
            ),
            (Jsonl, "a.jsonl.zst", None, "'-f jsonl | zstd > a.jsonl.zst'"),
            (Jsonl, "a.gz", None, "promises gzip"),
            (Tar, "a.tar.xz", None, "write '-o a.tar'"),
            (Tar, "a.tgz", None, "write '-o a.tar', or in place of -o '-f tar | gzip > a.tgz'"),
            (Csv, "a.tgz", None, "promises tar, and csv is written: write '-f tar'"),
            (Parquet, "a.parquet.gz", None, "write '-o a.parquet'"),
            (Warc, "a.warc.zst", None, "write '-o a.warc.gz'"),
            (Warc, "a.warc.gz", Some(CompressionName::None), "write '-o a.warc'"),
            (Warc, "a.warc", Some(CompressionName::Gzip), "write '-o a.warc.gz'"),
        ] {
            let fault = fault(format, name, compression);
            assert!(fault.contains(expected), "{format:?} {name}: {fault}");
            assert!(fault.is_empty() || fault.contains(name), "{fault}");
        }
    }
}
