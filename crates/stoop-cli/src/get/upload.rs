//! The content of `-T`: a file, the rest of one, a pipe, or standard input.

use std::fs::File;

use stoop::Body;

use super::args::GetArgs;
use super::exit;
use super::failure::GetFailure;
use super::stream::{is_stream, standard_input, stream};
use super::values::parse_offset;

/// The content of the file that is uploaded, and its Content-Range, if it is part of one.
///
/// # Errors
/// Those of the file, an offset that is none, and one beyond the file's end.
pub(super) async fn upload(args: &GetArgs) -> Result<(Body, Option<String>), GetFailure> {
    let path = args.upload_file.as_deref().unwrap_or("-".as_ref());
    let offset = args.continue_at.as_deref();
    let failed = |error| GetFailure::read(&path.display().to_string(), &error);
    let is_stdin = path.as_os_str() == "-";
    if is_stdin || is_stream(path).map_err(failed)? {
        return match offset {
            None if is_stdin => Ok((standard_input().map_err(failed)?, None)),
            None => Ok((stream(path).await.map_err(failed)?, None)),
            Some(_) => {
                let what =
                    if is_stdin { "standard input".into() } else { path.display().to_string() };
                let why = format!("-C and -T: {what} has no offsets");
                Err(GetFailure::new(exit::BAD_USE, why))
            }
        };
    }
    let body = Body::file(path).await.map_err(failed)?;
    let Some(offset) = offset else { return Ok((body, None)) };
    let length = body.len().unwrap_or_default();
    // How much the server has is not known: as curl does, all of it is sent again.
    let from = if offset == "-" { 0 } else { parse_offset(offset)? };
    if from == 0 && offset != "-" {
        return Ok((body, None));
    }
    if from >= length {
        let why = format!("-C {offset}: the file has {length} bytes, and none to send");
        return Err(GetFailure::new(exit::INCOMPLETE, why));
    }
    let rest = Body::from_file(File::open(path).map_err(failed)?, from..length);
    Ok((rest, Some(format!("bytes {from}-{}/{length}", length - 1))))
}
