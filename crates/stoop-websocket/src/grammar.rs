//! Lists in the fields of the handshake (RFC 6455 §4.3, §9.1).

/// An extension as a field lists it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Extension {
    pub(crate) name: String,
    /// Names and values in their order.
    pub(crate) parameters: Vec<(String, Option<String>)>,
}

/// extension-list = 1#extension, extension = extension-token *( ";" extension-param ) (RFC 6455 §9.1). Empty
/// elements are skipped (RFC 9110 §5.6.1). `None` if it is something else.
pub(crate) fn extensions(value: &[u8]) -> Option<Vec<Extension>> {
    let mut rest = value.trim_ascii_start();
    let mut extensions = Vec::new();
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix(b",") {
            rest = after.trim_ascii_start();
            continue;
        }
        let (name, after) = token(rest)?;
        let mut parameters = Vec::new();
        rest = after.trim_ascii_start();
        while let Some(after) = rest.strip_prefix(b";") {
            let (name, after) = token(after.trim_ascii_start())?;
            rest = after.trim_ascii_start();
            let mut value = None;
            if let Some(after) = rest.strip_prefix(b"=") {
                let (text, after) = parameter_value(after.trim_ascii_start())?;
                value = Some(text);
                rest = after.trim_ascii_start();
            }
            parameters.push((name.to_owned(), value));
        }
        extensions.push(Extension { name: name.to_owned(), parameters });
        if !rest.is_empty() && !rest.starts_with(b",") {
            return None;
        }
    }
    Some(extensions)
}

/// 1#token, of which empty elements are skipped (RFC 9110 §5.6.1); `None` if it is something else.
pub(crate) fn tokens(value: &[u8]) -> Option<Vec<&str>> {
    let mut tokens = Vec::new();
    for element in value.split(|byte| *byte == b',') {
        match element.trim_ascii() {
            [] => {}
            element => match token(element)? {
                (token, []) => tokens.push(token),
                _ => return None,
            },
        }
    }
    Some(tokens)
}

/// Whether `text` is a token.
pub(crate) fn is_token(text: &str) -> bool {
    matches!(token(text.as_bytes()), Some((_, [])))
}

/// token = 1*tchar (RFC 9110 §5.6.2), and what follows it.
fn token(input: &[u8]) -> Option<(&str, &[u8])> {
    let end = input.iter().position(|byte| !is_tchar(*byte)).unwrap_or(input.len());
    let (token, rest) = input.split_at(end);
    let token = str::from_utf8(token).ok()?;
    (!token.is_empty()).then_some((token, rest))
}

/// A token, or a quoted-string that is one without its quotes (RFC 6455 §9.1).
fn parameter_value(input: &[u8]) -> Option<(String, &[u8])> {
    let Some(quoted) = input.strip_prefix(b"\"") else {
        return token(input).map(|(token, rest)| (token.to_owned(), rest));
    };
    let mut value = String::new();
    let mut bytes = quoted.iter().enumerate();
    while let Some((at, &byte)) = bytes.next() {
        let byte = match byte {
            b'"' => return (!value.is_empty()).then(|| (value, &quoted[at + 1..])),
            b'\\' => *bytes.next()?.1,
            byte => byte,
        };
        if !is_tchar(byte) {
            return None;
        }
        value.push(char::from(byte));
    }
    None
}

fn is_tchar(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(value: &str) -> Option<String> {
        let extensions = extensions(value.as_bytes())?;
        let shown = extensions.iter().map(|extension| {
            let mut text = extension.name.clone();
            for (name, value) in &extension.parameters {
                text += &format!("; {name}");
                if let Some(value) = value {
                    text += &format!("={value}");
                }
            }
            text
        });
        Some(shown.collect::<Vec<_>>().join(", "))
    }

    /// RFC 6455 §9.1.
    #[test]
    fn extensions_are_a_list_with_parameters() {
        let good = [
            ("foo", "foo"),
            ("foo;bar = \"b\\az\" , ,baz", "foo; bar=baz, baz"),
            ("deflate-stream", "deflate-stream"),
            ("mux; max-channels=4; flow-control, deflate-stream", ""),
            ("permessage-deflate; client_max_window_bits; server_max_window_bits=10", ""),
            ("", ""),
        ];
        for (value, expected) in good {
            let expected = if expected.is_empty() { value } else { expected };
            assert_eq!(shown(value).as_deref(), Some(expected), "{value}");
        }
        for bad in [
            "foo bar",
            "foo;",
            ";foo",
            "foo=1",
            "foo;a=",
            "foo;a=\"",
            "foo;a=\"\"",
            "foo;a=\"b c\"",
            "f\u{e9}",
        ] {
            assert_eq!(shown(bad), None, "{bad}");
        }
    }

    /// RFC 6455 §4.3.
    #[test]
    fn protocols_are_tokens() {
        assert_eq!(tokens(b"chat, superchat,, v1.x "), Some(vec!["chat", "superchat", "v1.x"]));
        for bad in [&b"a b"[..], b"a/b", b"a;b", b"\xff", b"a, \"b\""] {
            assert_eq!(tokens(bad), None, "{bad:?}");
        }
        assert!(is_token("chat") && !is_token("") && !is_token("a,b"));
    }
}
