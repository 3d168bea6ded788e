//! Parser of structured fields that are dictionaries: RFC 9651 §3.2, as strict as its §4.2 requires.
//!
//! Only integers and booleans are returned: values of other types, which are not used here, are checked
//! and skipped, as parameters are.

/// The value of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Boolean(bool),
    Integer(i64),
    /// Of another type.
    Other,
}

/// The text is not a dictionary.
pub(super) struct MalformedDictionary;

type DictionaryResult<T> = Result<T, MalformedDictionary>;

/// Calls `member` with each key and value, in order. If parsing fails, none of them counts.
pub(super) fn members<'a>(
    text: &'a [u8],
    mut member: impl FnMut(&'a [u8], Value),
) -> DictionaryResult<()> {
    let mut cursor = Cursor(text);
    cursor.skip(b" ");
    while !cursor.0.is_empty() {
        let key = cursor.key()?;
        let value = match cursor.take(b'=') {
            true => cursor.item_or_list()?,
            false => Value::Boolean(true),
        };
        cursor.parameters()?;
        member(key, value);
        cursor.skip(b" \t");
        if cursor.0.is_empty() {
            break;
        }
        cursor.expect(b',')?;
        cursor.skip(b" \t");
        if cursor.0.is_empty() {
            return Err(MalformedDictionary);
        }
    }
    Ok(())
}

/// The rest of the text.
struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn next(&mut self) -> DictionaryResult<u8> {
        let (&first, rest) = self.0.split_first().ok_or(MalformedDictionary)?;
        self.0 = rest;
        Ok(first)
    }

    /// Reads that byte if it is next; returns whether it was.
    fn take(&mut self, byte: u8) -> bool {
        let is_next = self.0.first() == Some(&byte);
        if is_next {
            self.0 = &self.0[1..];
        }
        is_next
    }

    fn expect(&mut self, byte: u8) -> DictionaryResult<()> {
        if self.take(byte) { Ok(()) } else { Err(MalformedDictionary) }
    }

    fn skip(&mut self, bytes: &[u8]) {
        self.run(|byte| bytes.contains(&byte));
    }

    /// Reads the bytes of that class at the front.
    fn run(&mut self, class: impl Fn(u8) -> bool) -> &'a [u8] {
        let len = self.0.iter().take_while(|&&byte| class(byte)).count();
        let (run, rest) = self.0.split_at(len);
        self.0 = rest;
        run
    }

    /// key = ( lcalpha / "*" ) *( lcalpha / DIGIT / "_" / "-" / "." / "*" )
    fn key(&mut self) -> DictionaryResult<&'a [u8]> {
        if !matches!(self.0.first(), Some(b'a'..=b'z' | b'*')) {
            return Err(MalformedDictionary);
        }
        Ok(self.run(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-' | b'.' | b'*')))
    }

    /// parameters = *( ";" *SP parameter )
    fn parameters(&mut self) -> DictionaryResult<()> {
        while self.take(b';') {
            self.skip(b" ");
            self.key()?;
            if self.take(b'=') {
                self.item()?;
            }
        }
        Ok(())
    }

    /// inner-list = "(" *SP [ sf-item *( 1*SP sf-item ) *SP ] ")"
    fn item_or_list(&mut self) -> DictionaryResult<Value> {
        if !self.take(b'(') {
            return self.item();
        }
        loop {
            self.skip(b" ");
            if self.take(b')') {
                return Ok(Value::Other);
            }
            self.item()?;
            self.parameters()?;
            if !matches!(self.0.first(), Some(b' ' | b')')) {
                return Err(MalformedDictionary);
            }
        }
    }

    /// bare-item, by its first byte.
    fn item(&mut self) -> DictionaryResult<Value> {
        match self.0.first() {
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b'?') => self.boolean(),
            Some(b'"') => self.string(),
            Some(b':') => self.byte_sequence(),
            Some(b'@') => self.date(),
            Some(b'%') => self.display_string(),
            Some(b'a'..=b'z' | b'A'..=b'Z' | b'*') => {
                self.run(|byte| crate::grammar::is_token(&[byte]) || matches!(byte, b':' | b'/'));
                Ok(Value::Other)
            }
            _ => Err(MalformedDictionary),
        }
    }

    /// sf-integer = ["-"] 1*15DIGIT; sf-decimal = ["-"] 1*12DIGIT "." 1*3DIGIT
    fn number(&mut self) -> DictionaryResult<Value> {
        let sign = if self.take(b'-') { -1 } else { 1 };
        let digits = self.run(|byte| byte.is_ascii_digit());
        let is_decimal = self.take(b'.');
        let max = if is_decimal { 12 } else { 15 };
        if digits.is_empty() || digits.len() > max {
            return Err(MalformedDictionary);
        }
        if is_decimal {
            let fraction = self.run(|byte| byte.is_ascii_digit());
            return if (1..=3).contains(&fraction.len()) {
                Ok(Value::Other)
            } else {
                Err(MalformedDictionary)
            };
        }
        let number = digits.iter().fold(0, |sum, digit| sum * 10 + i64::from(digit - b'0'));
        Ok(Value::Integer(sign * number))
    }

    /// sf-boolean = "?" ( "0" / "1" )
    fn boolean(&mut self) -> DictionaryResult<Value> {
        self.expect(b'?')?;
        match self.next()? {
            b'0' => Ok(Value::Boolean(false)),
            b'1' => Ok(Value::Boolean(true)),
            _ => Err(MalformedDictionary),
        }
    }

    /// sf-string = DQUOTE *( unescaped / "%" / bs-escaped ) DQUOTE
    fn string(&mut self) -> DictionaryResult<Value> {
        self.expect(b'"')?;
        loop {
            match self.next()? {
                b'"' => return Ok(Value::Other),
                b'\\' if self.take(b'"') || self.take(b'\\') => {}
                b'\\' => return Err(MalformedDictionary),
                b' '..=b'~' => {}
                _ => return Err(MalformedDictionary),
            }
        }
    }

    /// sf-binary = ":" base64 ":"
    fn byte_sequence(&mut self) -> DictionaryResult<Value> {
        self.expect(b':')?;
        self.run(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='));
        self.expect(b':')?;
        Ok(Value::Other)
    }

    /// sf-date = "@" sf-integer
    fn date(&mut self) -> DictionaryResult<Value> {
        self.expect(b'@')?;
        match self.number()? {
            Value::Integer(_) => Ok(Value::Other),
            _ => Err(MalformedDictionary),
        }
    }

    /// sf-displaystring = "%" DQUOTE *( unescaped / "\" / pct-encoded ) DQUOTE
    fn display_string(&mut self) -> DictionaryResult<Value> {
        self.expect(b'%')?;
        self.expect(b'"')?;
        let is_hex = |byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        loop {
            match self.next()? {
                b'"' => return Ok(Value::Other),
                b'%' if is_hex(self.next()?) && is_hex(self.next()?) => {}
                b'%' => return Err(MalformedDictionary),
                b' '..=b'~' => {}
                _ => return Err(MalformedDictionary),
            }
        }
    }
}
