//! A document that is read step by step.

use std::io::{self, Read};

use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesRef, Event};

use super::bounded::Bounded;
use super::places::{Found, Places};

/// A comment, text or declaration has at most so many bytes. A text of RSS may be a whole page.
const EVENT_BYTES_MAX: usize = 4 << 20;

/// A document, and the place in it.
pub(super) struct Document<R: Read> {
    reader: Reader<Bounded<R>>,
    places: Places,
    buffer: Vec<u8>,
    has_something: bool,
}

impl<R: Read> Document<R> {
    /// Reads `input`, of which no more than `bytes_max` are read.
    pub(super) fn new(input: R, bytes_max: u64) -> Self {
        let mut reader = Reader::from_reader(Bounded::new(input, bytes_max));
        let config = reader.config_mut();
        config.expand_empty_elements = true;
        // Many a sitemap has the & of a query as it is.
        config.allow_dangling_amp = true;
        Self { reader, places: Places::default(), buffer: Vec::new(), has_something: false }
    }

    /// The URL that was found last.
    pub(super) fn places(&self) -> &Places {
        &self.places
    }

    pub(super) fn position(&self) -> u64 {
        self.reader.get_ref().position()
    }

    /// Whether a step needs no more input, most likely.
    pub(super) fn is_here(&self) -> bool {
        self.reader.get_ref().has_markup()
    }

    /// Reads one tag, text or the like.
    ///
    /// # Errors
    /// Those of the input, and what is no XML or no sitemap, with the place.
    pub(super) fn step(&mut self) -> io::Result<Found> {
        let Self { reader, places, buffer, has_something } = self;
        buffer.clear();
        reader.get_mut().allow(EVENT_BYTES_MAX);
        let at = reader.buffer_position();
        let found = match reader.read_event_into(buffer) {
            Ok(Event::Start(tag)) => places.begin(&tag),
            Ok(Event::End(_)) => Ok(places.end()),
            Ok(Event::Text(text)) if is_blank(&text) && !places.is_within() => {
                return Ok(Found::Nothing);
            }
            Ok(Event::Text(text)) => within(places, &text, *has_something),
            Ok(Event::CData(text)) => within(places, &text.into_inner(), *has_something),
            Ok(Event::GeneralRef(reference)) => {
                if places.is_within_url() {
                    refer(places, &reference);
                }
                Ok(Found::Nothing)
            }
            Ok(Event::Eof) if places.is_within() => {
                let text = format!("byte {at}: the input ends within an element");
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, text));
            }
            Ok(Event::Eof) if *has_something && !places.has_root() => {
                Err("the input ends before the document begins".to_owned())
            }
            Ok(Event::Eof) => return Ok(Found::End),
            Ok(Event::Decl(_) | Event::Comment(_) | Event::PI(_) | Event::DocType(_)) => {
                Ok(Found::Nothing)
            }
            Ok(Event::Empty(_)) => Ok(Found::Nothing),
            Err(quick_xml::Error::Io(error)) if error.kind() != io::ErrorKind::InvalidData => {
                return Err(io::Error::new(error.kind(), error.to_string()));
            }
            Err(quick_xml::Error::Io(error)) => Err(error.to_string()),
            Err(quick_xml::Error::Encoding(_)) => Err("it is not UTF-8".to_owned()),
            Err(error) => {
                let text = format!("byte {}: {error}", reader.error_position());
                return Err(io::Error::new(io::ErrorKind::InvalidData, text));
            }
        };
        *has_something = true;
        match found {
            Ok(Found::Invalid(why)) => Ok(Found::Invalid(format!("byte {at}: {why}"))),
            Ok(found) => Ok(found),
            Err(why) => {
                Err(io::Error::new(io::ErrorKind::InvalidData, format!("byte {at}: {why}")))
            }
        }
    }
}

/// Whether a text outside of all elements means nothing. A byte order mark is left if it came in pieces.
fn is_blank(text: &str) -> bool {
    text.trim_start_matches('\u{feff}').trim().is_empty()
}

/// A text, which may be one outside of all elements.
fn within(places: &mut Places, text: &str, has_something: bool) -> Result<Found, String> {
    if places.is_within_url() {
        places.text(text);
    }
    match places.is_within() || places.has_root() {
        true => Ok(Found::Nothing),
        false if has_something => Err("a text outside of the document's element".to_owned()),
        false => Err("it is no XML: a sitemap of text is a list of lines".to_owned()),
    }
}

/// A reference within a URL: a character, or one of the five that XML defines. Others would need a DTD.
fn refer(places: &mut Places, reference: &BytesRef<'_>) {
    match (reference.resolve_char_ref(), resolve_predefined_entity(reference)) {
        (Ok(Some(character)), _) => places.text(character.encode_utf8(&mut [0; 4])),
        (Ok(None), Some(text)) => places.text(text),
        (Err(_), _) => places.fail("a reference to a character that is none".to_owned()),
        (Ok(None), None) => {
            let name: String = reference.chars().take(40).collect();
            places.fail(format!("XML defines no `&{name};`"));
        }
    }
}
