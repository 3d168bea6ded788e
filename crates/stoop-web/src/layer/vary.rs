//! The field Vary (RFC 9110 §12.5.5).

use stoop::Response;

/// Adds a field's name to Vary, unless it is there or Vary is `*`.
pub(crate) fn add_vary(response: &mut Response, name: &str) {
    let fields = response.fields();
    if fields.lists("vary", name) || fields.lists("vary", "*") {
        return;
    }
    // The names given here are tokens.
    let _ = response.fields_mut().push("vary", name.as_bytes());
}
