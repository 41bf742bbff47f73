//! How a tensor prints: nested brackets and aligned columns, as in `NumPy`.

use core::fmt::{self, Debug, Formatter, Write};

/// A tensor with more elements than this is shortened.
const WHOLE: usize = 1000;
/// How many elements stand at each end of an axis that is shortened.
const EDGE: usize = 3;

/// Prints the elements; precision and sign of `f` hold for each.
pub(crate) fn tensor<T: Debug>(data: &[T], extents: &[usize], f: &mut Formatter<'_>) -> fmt::Result {
    let edge = if data.len() > WHOLE { EDGE } else { usize::MAX };
    let mut printer = Printer { data, edge, width: 0, rank: extents.len(), precision: f.precision() };
    printer.width = printer.widest(extents, 0);
    printer.axis(extents, 0, f)
}

struct Printer<'a, T> {
    data: &'a [T],
    edge: usize,
    width: usize,
    rank: usize,
    precision: Option<usize>,
}

impl<T: Debug> Printer<'_, T> {
    /// The places on an axis that print; `None` stands for those left out.
    fn places(&self, extent: usize) -> impl Iterator<Item = Option<usize>> + use<T> {
        let edge = self.edge;
        let cut = edge.checked_mul(2).is_some_and(|both| extent > both);
        let (head, tail) = if cut { (edge, extent - edge) } else { (extent, extent) };
        (0..head).map(Some).chain(cut.then_some(None)).chain((tail..extent).map(Some))
    }

    fn widest(&self, extents: &[usize], start: usize) -> usize {
        let Some((&extent, inner)) = extents.split_first() else {
            let mut width = Width(0);
            // Counting characters cannot fail.
            let _ = self.element(start, &mut width);
            return width.0;
        };
        let step: usize = inner.iter().product();
        let places = self.places(extent).flatten();
        places.map(|place| self.widest(inner, start + place * step)).max().unwrap_or(0)
    }

    fn axis(&self, extents: &[usize], start: usize, f: &mut Formatter<'_>) -> fmt::Result {
        let Some((&extent, inner)) = extents.split_first() else {
            let mut width = Width(0);
            self.element(start, &mut width)?;
            for _ in width.0..self.width {
                f.write_char(' ')?;
            }
            return self.element(start, f);
        };
        let step: usize = inner.iter().product();
        f.write_char('[')?;
        for (count, place) in self.places(extent).enumerate() {
            if count > 0 {
                self.separator(inner.len(), f)?;
            }
            match place {
                Some(place) => self.axis(inner, start + place * step, f)?,
                None => f.write_str("...")?,
            }
        }
        f.write_char(']')
    }

    /// Between two elements a blank; between two rows a new line, between two planes one more.
    fn separator(&self, inner: usize, f: &mut Formatter<'_>) -> fmt::Result {
        if inner == 0 {
            return f.write_str(", ");
        }
        f.write_char(',')?;
        for _ in 0..inner {
            f.write_char('\n')?;
        }
        for _ in 0..self.rank - inner {
            f.write_char(' ')?;
        }
        Ok(())
    }

    fn element(&self, at: usize, f: &mut impl Write) -> fmt::Result {
        let Some(element) = self.data.get(at) else {
            return Ok(());
        };
        match self.precision {
            Some(precision) => write!(f, "{element:.precision$?}"),
            None => write!(f, "{element:?}"),
        }
    }
}

/// Counts characters.
struct Width(usize);

impl Write for Width {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 += text.chars().count();
        Ok(())
    }
}
