//! What was chosen and what bounded it, in words.

use super::super::{Contraction, Machine, Staged};
use super::{Choice, Packing, along_all, beside_constants, cached, extent};
use crate::dlight::Chosen;
use crate::dlight::tiles::most_rows;

impl Choice {
    /// Of a contraction whose operands are not laid out anew yet.
    pub(in crate::dlight) fn said(&self, staged: &Staged, found: &Contraction, machine: &Machine) -> Chosen {
        let mut all = vec![("rows", self.rows(staged, found, machine)), ("columns", self.columns(staged, found))];
        if self.strips {
            all.push((
                "order",
                "strips of columns outside of all: what windows read of one stays in the first cache".into(),
            ));
        } else if self.row.is_some() {
            let (outer, read) = if self.columns_outside { ("columns", "columns") } else { ("rows", "rows") };
            all.push(("order", format!("{outer} outside: what lies along the {read} is read once")));
        }
        if self.block > 1 {
            let text =
                "tiles along the columns for one row of tiles after the other: the second cache holds what they read";
            all.push(("blocks", format!("{} {text}", self.block)));
        }
        if let Some(buf) = self.padded {
            let name = &staged.b.buf(buf).name;
            all.push(("padded", format!("`{name}` is copied with room between its rows: they would share cache sets")));
        }
        if let Some((n, packing)) = self.packed {
            let operand = &found.operands[n];
            let name = &staged.b.buf(operand.buf).name;
            all.push(("packed", format!("`{name}` {}", packing.said(operand.along(self.column)))));
        }
        all
    }

    /// The largest tile.
    pub(in crate::dlight) fn tile(&self) -> (&'static str, String) {
        ("tile", format!("{} x {}", self.tile.rows, self.tile.width()))
    }

    /// Of a sum that is longer than one accumulator takes.
    pub(in crate::dlight) fn in_blocks(&self) -> (&'static str, String) {
        ("sums", format!("in blocks of at most {} terms", self.terms))
    }

    fn rows(&self, staged: &Staged, found: &Contraction, machine: &Machine) -> String {
        let Some(row) = self.row else { return "1: no iterator gives rows".into() };
        let own = along_all(found, self.column, &beside_constants(staged, found, machine));
        let Choice { tile, .. } = self;
        if self.matrix {
            return format!("at most {}: two registers, which are matrices of 16 rows", tile.rows);
        }
        if self.line().is_some() {
            return format!("{} lines of {}: all that there are in one", tile.lines, tile.rows / tile.lines);
        }
        if extent(staged, &staged.stages[found.stage], row) == Some(tile.rows) {
            return format!("{}: all that there are", tile.rows);
        }
        match most_rows(tile.vectors, &own) == tile.rows {
            true => {
                let kept = match own.registers == machine.registers {
                    true => String::new(),
                    false => format!(", {} of which are kept for the rest", machine.registers - own.registers),
                };
                let (sums, all) = (tile.rows * tile.vectors, machine.registers);
                format!(
                    "at most {}: {sums} accumulators, {} vectors and a broadcast in {all} registers{kept}",
                    tile.rows, tile.vectors
                )
            }
            false if cached(staged, found, row, &own) == tile.rows => {
                format!("at most {}: more of them would not stay in the first cache", tile.rows)
            }
            false => format!("at most {}", tile.rows),
        }
    }

    fn columns(&self, staged: &Staged, found: &Contraction) -> String {
        let (tile, count) = (self.tile, extent(staged, &staged.stages[found.stage], self.column));
        let vectors = format!("{} vector{} of {}", tile.vectors, if tile.vectors == 1 { "" } else { "s" }, tile.lanes);
        let panels = found.operands.iter().find(|o| o.panel.is_some_and(|(_, width)| width == tile.width()));
        match (panels, count) {
            (Some(operand), _) => format!("{vectors}, as wide as the panels of `{}`", staged.b.buf(operand.buf).name),
            (None, Some(n)) if n <= tile.width() => format!("{vectors}: all {n} of them"),
            (None, _) => format!("{vectors}: the fewest cycles by the model of the core"),
        }
    }
}

impl Packing {
    /// What is done with an operand, which has neighbours along the columns or none.
    fn said(self, along: bool) -> String {
        match self {
            Packing::Iterators => "is laid out anew before: it has no neighbours along the columns".into(),
            Packing::Phases(step) => format!("is laid out anew before, every {step}th element beside the next"),
            Packing::Panels => "lies in panels since the program was built".into(),
            Packing::CopiedPanels if along => "is copied into panels: what a tile reads of it lies far apart".into(),
            Packing::CopiedPanels => "is transposed into panels: it has no neighbours along the columns".into(),
        }
    }
}
