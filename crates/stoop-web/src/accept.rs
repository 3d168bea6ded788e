//! Content negotiation (RFC 9110 §12): which of several alternatives a client prefers.

use stoop::Fields;

/// A weight in thousandths (RFC 9110 §12.4.2); `None` where it is malformed.
pub(crate) fn weight(value: &str) -> Option<u16> {
    let (whole, rest) = value.split_once('.').unwrap_or((value, ""));
    if rest.len() > 3 || !rest.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let thousandths = format!("{rest:0<3}").parse().ok()?;
    match (whole, thousandths) {
        ("0", thousandths) => Some(thousandths),
        ("1", 0) => Some(1000),
        _ => None,
    }
}

/// The elements of a list field: each with its weight, 1000 unless it says another. What is malformed is left out.
pub(crate) fn weighted<'a>(
    fields: &'a Fields,
    name: &'a str,
) -> impl Iterator<Item = (&'a str, u16)> {
    let lines = fields.all(name).filter_map(|line| std::str::from_utf8(line).ok());
    // A quoted string in a parameter, with a comma in it, is nothing that clients send here.
    lines.flat_map(|line| line.split(',')).filter_map(|element| {
        let mut parts = element.split(';').map(|part| part.trim_matches([' ', '\t']));
        let value = parts.next().filter(|value| !value.is_empty())?;
        let q = parts.find_map(|part| {
            let (name, value) = part.split_once('=')?;
            name.trim_end().eq_ignore_ascii_case("q").then(|| weight(value.trim_start()))
        });
        Some((value, q.unwrap_or(Some(1000))?))
    })
}

/// How much a client wants a media type, by the most specific range that matches it (RFC 9110 §12.5.1), and how
/// specific that was: 3 for the type itself, 2 for `text/*`, 1 for `*/*`, 0 for none.
fn media_weight(fields: &Fields, media_type: &str) -> (u16, u8) {
    let main = media_type.split('/').next().unwrap_or_default();
    let mut best = (0, 0);
    for (range, weight) in weighted(fields, "accept") {
        let specific = match range.split_once('/') {
            _ if range.eq_ignore_ascii_case(media_type) => 3,
            Some((of, "*")) if of.eq_ignore_ascii_case(main) => 2,
            Some(("*", "*")) => 1,
            _ => continue,
        };
        if specific > best.1 || (specific == best.1 && weight > best.0) {
            best = (weight, specific);
        }
    }
    best
}

/// Which of `offered` media types, the preferred first, a client would rather have: the one with the greatest weight,
/// and of several the first. Without Accept the first (RFC 9110 §12.5.1); `None` if it takes none of them, for which
/// 406 is an answer.
///
/// ```
/// use stoop::Request;
/// use stoop_web::preferred;
///
/// let request = Request::get("/")?.with_field("accept", "text/html;q=0.8, application/json")?;
/// let offered = ["text/html", "application/json"];
/// assert_eq!(preferred(&request, &offered), Some("application/json"));
/// assert_eq!(preferred(&request, &["image/png"]), None);
/// # Ok::<(), stoop::Error>(())
/// ```
pub fn preferred<'a>(request: &stoop::Request, offered: &[&'a str]) -> Option<&'a str> {
    let fields = request.fields();
    if !fields.contains("accept") {
        return offered.first().copied();
    }
    let mut best = None;
    for media_type in offered {
        let (weight, _) = media_weight(fields, media_type);
        if weight > 0 && best.is_none_or(|(most, _)| weight > most) {
            best = Some((weight, *media_type));
        }
    }
    best.map(|(_, media_type)| media_type)
}

/// Whether a client names HTML, or texts of any kind, among what it takes: a browser that asks for a page does, and
/// what takes `*/*` may want anything.
#[cfg(feature = "files")]
pub(crate) fn names_html(fields: &Fields) -> bool {
    let (weight, specific) = media_weight(fields, "text/html");
    weight > 0 && specific >= 2
}

/// Whether a client would rather read JSON than text: it names JSON, and does not weigh text higher.
pub(crate) fn prefers_json(fields: &Fields) -> bool {
    let json = ["application/problem+json", "application/json"];
    let best = json.map(|of| media_weight(fields, of)).into_iter().max();
    let (weight, specific) = best.unwrap_or_default();
    let (text, text_specific) = media_weight(fields, "text/plain");
    weight > 0 && specific >= 2 && (weight, specific) >= (text, text_specific)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(accept: &str) -> Fields {
        let mut fields = Fields::new();
        fields.push("accept", accept.as_bytes()).unwrap();
        fields
    }

    /// RFC 9110 §12.4.2.
    #[test]
    fn a_weight_is_zero_to_one_with_three_digits_at_most() {
        for (value, expected) in [
            ("0", Some(0)),
            ("1", Some(1000)),
            ("0.5", Some(500)),
            ("0.123", Some(123)),
            ("1.000", Some(1000)),
            ("0.", Some(0)),
            ("1.001", None),
            ("0.1234", None),
            ("-1", None),
            (".5", None),
            ("0.+1", None),
            ("", None),
        ] {
            assert_eq!(weight(value), expected, "{value}");
        }
    }

    /// RFC 9110 §12.5.1: the most specific range has precedence.
    #[test]
    fn the_most_specific_range_says_how_much_a_type_is_wanted() {
        let accept = "text/*;q=0.3, text/html;q=0.7, */*;q=0.5, image/png;q=0";
        let request = stoop::Request::get("/").unwrap().with_field("accept", accept).unwrap();
        for (offered, chosen) in [
            (&["text/plain", "text/html"][..], Some("text/html")),
            (&["text/plain", "application/json"], Some("application/json")),
            (&["image/png"], None),
            (&["image/gif", "application/json"], Some("image/gif")),
            (&[], None),
        ] {
            assert_eq!(preferred(&request, offered), chosen, "{offered:?}");
        }
        let without = stoop::Request::get("/").unwrap();
        assert_eq!(preferred(&without, &["a/b", "c/d"]), Some("a/b"));
    }

    #[test]
    fn errors_are_json_for_those_who_name_it() {
        for (accept, is) in [
            ("application/json", true),
            ("application/problem+json, */*;q=0.1", true),
            ("application/*", true),
            ("*/*", false),
            ("text/html,application/xhtml+xml,*/*;q=0.8", false),
            ("application/json;q=0.5, text/plain", false),
            ("application/json;q=0", false),
        ] {
            assert_eq!(prefers_json(&fields(accept)), is, "{accept}");
        }
        assert!(!prefers_json(&Fields::new()));
    }
}
