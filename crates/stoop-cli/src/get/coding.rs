//! Content codings that the client has left: it decodes up to three, curl five, and what is not decoded is no success.

use stoop::body::ContentCoding;
use stoop::{Fields, Response};

use super::exit;
use super::failure::GetFailure;

/// Codings that are decoded, as many as curl does.
const CODINGS_MAX: usize = 5;

/// Has the rest of a response's codings decoded.
///
/// # Errors
/// Codings that are not known, and more than five.
pub(super) fn decode(response: &mut Response) -> Result<(), GetFailure> {
    let names: Vec<String> = response
        .fields()
        .all("content-encoding")
        .flat_map(|value| value.split(|byte| *byte == b','))
        .map(|name| String::from_utf8_lossy(name.trim_ascii()).to_ascii_lowercase())
        .filter(|name| !matches!(&**name, "" | "identity" | "none"))
        .collect();
    if names.is_empty() || response.body_mut().is_empty() {
        return Ok(());
    }
    let fail = |why: String| Err(GetFailure::new(exit::BAD_CODING, why));
    if names.len() > CODINGS_MAX {
        return fail(format!("the content has {} codings, more than {CODINGS_MAX}", names.len()));
    }
    let mut codings = Vec::new();
    for name in names {
        match coding(&name) {
            Some(coding) => codings.push(coding),
            None => {
                return fail(format!(
                    "the content has the coding {name:?}, which is not known: without --compressed it is written as it \
                     comes"
                ));
            }
        }
    }
    let body = response.body_mut();
    *body = std::mem::take(body).decoded(&codings, u64::MAX, u32::MAX);
    Ok(())
}

fn coding(name: &str) -> Option<ContentCoding> {
    let mut fields = Fields::new();
    fields.push("content-encoding", name.as_bytes()).ok()?;
    ContentCoding::listed(&fields)?.first().copied()
}
