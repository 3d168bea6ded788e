//! The content of `-T`: a file, the rest of one, or standard input.

use std::fs::File;
use std::io::Read;

use stoop::Body;

use super::args::GetArgs;
use super::exit;
use super::failure::GetFailure;
use super::values::parse_offset;

/// Bytes that standard input is read by.
const PIECE_BYTES: usize = 64 * 1024;

/// The content of the file that is uploaded, and its Content-Range, if it is part of one.
///
/// # Errors
/// Those of the file, an offset that is none, and one beyond the file's end.
pub(super) async fn upload(args: &GetArgs) -> Result<(Body, Option<String>), GetFailure> {
    let path = args.upload_file.as_deref().unwrap_or("-".as_ref());
    let offset = args.continue_at.as_deref();
    if path.as_os_str() == "-" {
        return match offset {
            None => Ok((stdin(), None)),
            Some(_) => {
                Err(GetFailure::new(exit::BAD_USE, "-C and -T: standard input has no offsets"))
            }
        };
    }
    let failed = |error| GetFailure::read(&path.display().to_string(), &error);
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

/// Standard input, as it comes.
fn stdin() -> Body {
    let (sender, body) = Body::channel(1);
    tokio::task::spawn_blocking(move || {
        let runtime = tokio::runtime::Handle::current();
        let mut input = std::io::stdin().lock();
        let mut piece = vec![0; PIECE_BYTES];
        loop {
            let sent = match input.read(&mut piece) {
                Ok(0) => return drop(runtime.block_on(sender.finish())),
                Ok(n) => runtime.block_on(sender.send(piece[..n].to_vec())),
                Err(error) => return runtime.block_on(sender.fail(error)),
            };
            if sent.is_err() {
                return;
            }
        }
    });
    body
}
