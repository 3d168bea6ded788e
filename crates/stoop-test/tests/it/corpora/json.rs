//! A reader of as much JSON as the test vectors use: no fractions, and no escapes beyond the first 256
//! characters.

/// A JSON value.
#[derive(Debug)]
pub(crate) enum JsonValue {
    Null,
    Flag,
    Number(u32),
    Text(String),
    List(Vec<JsonValue>),
    Object(Vec<(String, JsonValue)>),
}

impl JsonValue {
    /// Reads a text that is one value.
    pub(crate) fn read(text: &str) -> Self {
        let mut reader = JsonReader { text, at: 0 };
        let value = reader.value();
        assert_eq!(reader.peek(), None, "behind the value");
        value
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Self> {
        self.members().iter().find(|member| member.0 == name).map(|member| &member.1)
    }

    pub(crate) fn members(&self) -> &[(String, Self)] {
        if let Self::Object(members) = self { members } else { &[] }
    }

    pub(crate) fn items(&self) -> &[Self] {
        if let Self::List(items) = self { items } else { &[] }
    }

    pub(crate) fn text(&self) -> &str {
        if let Self::Text(text) = self { text } else { "" }
    }

    pub(crate) fn number(&self) -> Option<u32> {
        if let Self::Number(number) = self { Some(*number) } else { None }
    }
}

/// A text, and how far it has been read.
struct JsonReader<'a> {
    text: &'a str,
    at: usize,
}

impl JsonReader<'_> {
    /// The next byte that is not whitespace.
    fn peek(&mut self) -> Option<u8> {
        let rest = &self.text.as_bytes()[self.at..];
        self.at += rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        self.text.as_bytes().get(self.at).copied()
    }

    fn take(&mut self, byte: u8) {
        assert_eq!(self.peek().map(char::from), Some(char::from(byte)), "at {}", self.at);
        self.at += 1;
    }

    fn value(&mut self) -> JsonValue {
        match self.peek() {
            Some(b'{') => JsonValue::Object(self.list(b'{', b'}', |reader| {
                let name = reader.string();
                reader.take(b':');
                (name, reader.value())
            })),
            Some(b'[') => JsonValue::List(self.list(b'[', b']', Self::value)),
            Some(b'"') => JsonValue::Text(self.string()),
            _ => self.word(),
        }
    }

    fn list<T>(&mut self, open: u8, close: u8, item: impl Fn(&mut Self) -> T) -> Vec<T> {
        let mut items = Vec::new();
        self.take(open);
        while self.peek() != Some(close) {
            if !items.is_empty() {
                self.take(b',');
            }
            items.push(item(self));
        }
        self.take(close);
        items
    }

    fn word(&mut self) -> JsonValue {
        let rest = &self.text[self.at..];
        let len = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
        self.at += len;
        match &rest[..len] {
            "null" => JsonValue::Null,
            "true" | "false" => JsonValue::Flag,
            number => JsonValue::Number(number.parse().expect("a number")),
        }
    }

    fn string(&mut self) -> String {
        let mut string = String::new();
        self.take(b'"');
        loop {
            let rest = &self.text[self.at..];
            let len = rest.find(['"', '\\']).expect("a string ends");
            string.push_str(&rest[..len]);
            self.at += len + 1;
            if rest.as_bytes()[len] == b'"' {
                return string;
            }
            let escaped = rest.as_bytes()[len + 1];
            self.at += 1;
            string.push(match escaped {
                b'"' | b'\\' | b'/' => char::from(escaped),
                b'u' => {
                    let code = &self.text[self.at..self.at + 4];
                    self.at += 4;
                    char::from(u8::from_str_radix(code, 16).expect("one of the first 256"))
                }
                _ => panic!("an escape: {}", char::from(escaped)),
            });
        }
    }
}
