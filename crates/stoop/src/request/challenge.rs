//! The challenges of a WWW-Authenticate field (RFC 9110 §11.6.1): each is a scheme with parameters, and commas separate
//! both the challenges and their parameters.

/// The challenges of a scheme in a field's value, each with its parameters as they came.
pub(super) fn of_scheme<'a>(
    value: &'a str,
    wanted: &'a str,
) -> impl Iterator<Item = Vec<&'a str>> + 'a {
    let mut challenges: Vec<(&str, Vec<&str>)> = Vec::new();
    for item in items(value) {
        let (word, rest) = item.split_at(item.find([' ', '\t', '=']).unwrap_or(item.len()));
        let rest = rest.trim_start();
        match challenges.last_mut() {
            Some((_, parameters)) if rest.starts_with('=') => parameters.push(item),
            _ => {
                let first = (!rest.is_empty()).then_some(rest);
                challenges.push((word, first.into_iter().collect()));
            }
        }
    }
    challenges
        .into_iter()
        .filter(move |(scheme, _)| scheme.eq_ignore_ascii_case(wanted))
        .map(|(_, parameters)| parameters)
}

/// The value of a parameter, without its quotes.
pub(super) fn parameter(parameters: &[&str], wanted: &str) -> Option<String> {
    let value = parameters.iter().find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim_end().eq_ignore_ascii_case(wanted).then(|| value.trim_start())
    })?;
    let Some(quoted) = value.strip_prefix('"') else { return Some(value.to_owned()) };
    let (mut text, mut rest) = (String::new(), quoted.chars());
    loop {
        match rest.next()? {
            '"' => return Some(text),
            '\\' => text.extend(rest.next()),
            other => text.push(other),
        }
    }
}

/// What stands between commas that are not in quotes, without what is empty.
fn items(value: &str) -> impl Iterator<Item = &str> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    let items = value.split(move |c| {
        let was_escaped = std::mem::take(&mut is_escaped);
        match c {
            '"' if !was_escaped => is_quoted = !is_quoted,
            '\\' if is_quoted && !was_escaped => is_escaped = true,
            _ => {}
        }
        c == ',' && !is_quoted
    });
    items.map(str::trim).filter(|item| !item.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_has_any_number_of_challenges() {
        for (value, expected) in [
            ("Digest realm=\"a, b\", nonce=n", vec![vec!["realm=\"a, b\"", "nonce=n"]]),
            ("Basic realm=\"x\", DIGEST a = 1,b=2", vec![vec!["a = 1", "b=2"]]),
            ("Digest a=1, Negotiate, Digest b=\"\\\",\"", vec![vec!["a=1"], vec!["b=\"\\\",\""]]),
            (" , Negotiate abc==, Digest", vec![vec![]]),
            ("Basic realm=\"Digest a=1\"", vec![]),
            ("", vec![]),
            ("a=1", vec![]),
        ] {
            let found: Vec<_> = of_scheme(value, "digest").collect();
            assert_eq!(found, expected, "{value}");
        }
    }

    #[test]
    fn a_parameter_is_a_word_or_in_quotes() {
        let parameters = ["Realm = \"a\\\"\u{e9}\"", "stale=TRUE", "nonce=\"no end"];
        assert_eq!(parameter(&parameters, "realm").as_deref(), Some("a\"\u{e9}"));
        assert_eq!(parameter(&parameters, "stale").as_deref(), Some("TRUE"));
        assert_eq!((parameter(&parameters, "nonce"), parameter(&parameters, "no")), (None, None));
    }
}
