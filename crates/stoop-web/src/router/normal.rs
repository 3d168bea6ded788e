//! The form in which paths and patterns are compared, so that a path finds the same route however it is written.
//!
//! `/%61dmin` is `/admin` (RFC 3986 §6.2.2.2), and what serves files decodes both to the same name. If the router told them
//! apart, the one would pass by the layers that are around the other. In the form each byte has one spelling:
//! printable ASCII characters as they are, all others encoded with digits in upper case, and so an encoded slash, which
//! separates no segments, a question mark, which begins no query, and a percent sign. Segments are not touched: a dot segment
//! is one as any other, and so is an empty one.

/// A path in its form, and where its bytes were in the path.
pub(crate) struct NormalPath {
    form: String,
    /// For each byte of the form, and for its end, where in the path the character begins that it is of. A head is
    /// shorter than 4 GiB.
    origins: Vec<u32>,
}

impl NormalPath {
    pub(crate) fn new(path: &str) -> Self {
        let mut form = String::with_capacity(path.len());
        let mut origins = Vec::with_capacity(path.len() + 1);
        let mut at = 0;
        while let Some(character) = Character::first(&path.as_bytes()[at..]) {
            character.push_to(&mut form);
            origins.resize(form.len(), at as u32);
            at += character.length;
        }
        origins.push(at as u32);
        Self { form, origins }
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.form
    }

    /// Where in the path is what is at `at` in the form.
    pub(crate) fn origin(&self, at: u32) -> u32 {
        let origin = self.origins.get(at as usize).or(self.origins.last());
        origin.copied().unwrap_or_default()
    }
}

/// Whether a path of a request, which is visible ASCII, may be another in its form.
#[inline]
pub(crate) fn may_differ(path: &str) -> bool {
    path.as_bytes().contains(&b'%')
}

/// A pattern whose fixed parts are in the form; its parameters stay as they are.
pub(crate) fn normal_pattern(pattern: &str) -> String {
    let mut form = String::with_capacity(pattern.len());
    let mut rest = pattern;
    loop {
        let (fixed, behind) = rest.split_at(rest.find(['{', '}']).unwrap_or(rest.len()));
        push_fixed(fixed, &mut form);
        // Braces that are none of a parameter are doubled; a malformed pattern is refused elsewhere.
        let is_doubled = behind.starts_with("{{") || behind.starts_with("}}");
        let end = if is_doubled { 2 } else { behind.find('}').map_or(behind.len(), |at| at + 1) };
        if behind.is_empty() {
            return form;
        }
        form.push_str(&behind[..end]);
        rest = &behind[end..];
    }
}

fn push_fixed(fixed: &str, form: &mut String) {
    let mut bytes = fixed.as_bytes();
    while let Some(character) = Character::first(bytes) {
        match character.byte {
            brace @ (b'{' | b'}') => form.extend([char::from(brace); 2]),
            _ => character.push_to(form),
        }
        bytes = &bytes[character.length..];
    }
}

/// A byte that a path is of, as it is written.
struct Character {
    byte: u8,
    is_encoded: bool,
    length: usize,
}

impl Character {
    /// The first of a path. A percent sign without two digits is one that should have been encoded, which is how parameters
    /// are decoded, too.
    fn first(path: &[u8]) -> Option<Self> {
        let (first, behind) = path.split_first()?;
        let digit = |digit: u8| char::from(digit).to_digit(16).map(|digit| digit as u8);
        if *first == b'%'
            && let [high, low, ..] = behind
            && let (Some(high), Some(low)) = (digit(*high), digit(*low))
        {
            return Some(Self { byte: high << 4 | low, is_encoded: true, length: 3 });
        }
        Some(Self { byte: *first, is_encoded: *first == b'%', length: 1 })
    }

    fn push_to(&self, form: &mut String) {
        let stays_encoded = self.is_encoded && matches!(self.byte, b'/' | b'?' | b'%');
        match self.byte.is_ascii_graphic() && !stays_encoded {
            true => form.push(char::from(self.byte)),
            false => form.push_str(&format!("%{:02X}", self.byte)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 3986 §6.2.2.1, §6.2.2.2.
    #[test]
    fn equivalent_paths_have_one_form() {
        for (path, form) in [
            ("/admin", "/admin"),
            ("/%61d%6Din", "/admin"),
            ("/%7e%2D%2e%5F", "/~-._"),
            ("/a%2fb%2Fc", "/a%2Fb%2Fc"),
            ("/%c3%A4", "/%C3%A4"),
            ("/a%20b%3B%3f", "/a%20b;%3F"),
            ("/%2541", "/%2541"),
            ("/100%", "/100%25"),
            ("/%zz%4%+1", "/%25zz%254%25+1"),
            ("/%%341", "/%2541"),
            ("/%00%7f%ff", "/%00%7F%FF"),
            ("/%2e%2e//./", "/..//./"),
            ("", ""),
        ] {
            assert_eq!(NormalPath::new(path).as_str(), form, "{path}");
            assert_eq!(NormalPath::new(form).as_str(), form, "once and twice are the same");
        }
    }

    #[test]
    fn a_byte_of_the_form_has_a_place_in_the_path() {
        let normal = NormalPath::new("/%61b%2fc%");
        assert_eq!(normal.as_str(), "/ab%2Fc%25");
        let origins: Vec<_> = (0..=11).map(|at| normal.origin(at)).collect();
        assert_eq!(origins, [0, 1, 4, 5, 5, 5, 8, 9, 9, 9, 10, 10]);
    }

    #[test]
    fn a_pattern_has_the_form_of_the_paths_that_it_matches() {
        for (pattern, form) in [
            ("/%61/{id}/x-{b%61}.%70ng/{*rest}", "/a/{id}/x-{b%61}.png/{*rest}"),
            ("/a b/\u{e4}/%c3%a4", "/a%20b/%C3%A4/%C3%A4"),
            ("/{{x}}/%7by%7D", "/{{x}}/{{y}}"),
            ("/a%2fb", "/a%2Fb"),
            ("/{never", "/{never"),
            ("/ends}", "/ends}"),
        ] {
            assert_eq!(normal_pattern(pattern), form, "{pattern}");
        }
    }
}
