//! What plots are drawn on, and their colours. Each colour of a plot is written as an attribute, which the style of the
//! page replaces by the one of its scheme, light or dark.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::html::Text;

/// What is drawn on.
pub(super) type Canvas<'a> = DrawingArea<SVGBackend<'a>, Shift>;
/// Drawing to memory fails where the drawing is wrong.
pub(super) type Drawn = Result<(), Box<dyn std::error::Error>>;

pub(super) const WIDTH: u32 = 720;

pub(super) const INK: RGBColor = RGBColor(0x01, 0x01, 0x01);
pub(super) const GRID: RGBColor = RGBColor(0xd8, 0xd8, 0xd9);
/// Of 2xx, 3xx, 4xx and 5xx, and of no answer: five that differ in brightness, too.
pub(super) const CLASSES: [(&str, RGBColor); 5] = [
    ("2xx", RGBColor(0x1b, 0x7f, 0x5c)),
    ("3xx", RGBColor(0x7f, 0xb2, 0xe5)),
    ("4xx", RGBColor(0xe3, 0xa0, 0x2b)),
    ("5xx", RGBColor(0xb8, 0x3a, 0x2e)),
    ("no answer", RGBColor(0x4d, 0x45, 0x66)),
];
/// Of everything else.
pub(super) const MAIN: RGBColor = RGBColor(0x2f, 0x5f, 0xa8);
pub(super) const PALE: RGBColor = RGBColor(0xa9, 0xc0, 0xe2);

/// A plot as an element that has its title and says what it shows. An empty one where it cannot be drawn.
pub(super) fn svg(
    id: &str,
    title: &str,
    shows: &str,
    height: u32,
    draw: impl FnOnce(&Canvas<'_>) -> Drawn,
) -> String {
    let mut drawn = String::new();
    let is_drawn = {
        let canvas = SVGBackend::with_string(&mut drawn, (WIDTH, height)).into_drawing_area();
        draw(&canvas).and_then(|()| Ok(canvas.present()?)).is_ok()
    };
    debug_assert!(is_drawn, "{id}");
    // What `plotters` writes around it knows nothing of titles.
    let inner = drawn.split_once('>').map_or("", |(_, rest)| rest);
    let inner = inner.rsplit_once("</svg>").map_or("", |(inner, _)| inner);
    format!(
        "<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-labelledby=\"{id}-title {id}-text\">\
         <title id=\"{id}-title\">{}</title><desc id=\"{id}-text\">{}</desc>{inner}</svg>\n",
        Text(title),
        Text(shows),
    )
}

/// Writes text, in the middle of its height.
pub(super) fn write(canvas: &Canvas<'_>, text: &str, at: (i32, i32), side: HPos) -> Drawn {
    let style = ("sans-serif", 14).into_font().color(&INK).pos(Pos::new(side, VPos::Center));
    canvas.draw(&plotters::element::Text::new(text.to_owned(), at, style))?;
    Ok(())
}

/// Fills a rectangle.
pub(super) fn fill(canvas: &Canvas<'_>, corners: [(i32, i32); 2], color: RGBColor) -> Drawn {
    canvas.draw(&Rectangle::new(corners, color.filled()))?;
    Ok(())
}

/// Draws a line.
pub(super) fn line(
    canvas: &Canvas<'_>,
    ends: [(i32, i32); 2],
    color: RGBColor,
    width: u32,
) -> Drawn {
    canvas.draw(&PathElement::new(ends.to_vec(), color.stroke_width(width)))?;
    Ok(())
}

/// The names of colours, in a row from `left` on.
pub(super) fn legend(canvas: &Canvas<'_>, names: &[(&str, RGBColor)], left: i32, y: i32) -> Drawn {
    let mut x = left;
    for (name, color) in names {
        fill(canvas, [(x, y - 6), (x + 12, y + 6)], *color)?;
        write(canvas, name, (x + 17, y), HPos::Left)?;
        x += 40 + 7 * i32::try_from(name.len()).unwrap_or(0);
    }
    Ok(())
}
