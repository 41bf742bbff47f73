//! Rows whose number nobody knows: whole tiles, and smaller ones for what is left behind them.
//!
//! Each height divides the one before. So a part begins at a multiple of its own height whatever the number of rows
//! is, and what is proven of it is a division of that number, not of what another division leaves.

use tenfold_ir::arith::IntExpr;

/// Rows that begin somewhere and run in tiles of one height.
pub(super) struct Rows {
    /// The first row.
    pub begin: IntExpr,
    /// How many tiles there are.
    pub tiles: IntExpr,
    /// Rows of each.
    pub height: i64,
}

/// The most rows for tiles of an unknown number of rows, where registers have room for `most`: so many that few smaller
/// tiles are left behind.
pub(super) fn whole(most: i64) -> i64 {
    match most {
        8.. => most / 4 * 4,
        4..=7 => most / 2 * 2,
        _ => most,
    }
}

/// What may follow behind whole tiles: each kind of tile is code of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Behind {
    /// Tiles of four, two and one, as far as they divide the whole ones.
    All,
    /// The largest of these, and single rows.
    Two,
    /// Single rows.
    One,
}

/// Rows in tiles of `most`, then in smaller ones.
pub(super) fn parts(extent: &IntExpr, most: i64, behind: Behind) -> Vec<Rows> {
    let mut smaller: Vec<i64> = [4, 2, 1].into_iter().filter(|n| *n < most && most % n == 0).collect();
    let largest = smaller.first().copied();
    smaller.retain(|n| match behind {
        Behind::All => true,
        Behind::Two => *n == 1 || largest == Some(*n),
        Behind::One => *n == 1,
    });
    let mut begin = IntExpr::from(0);
    let parts = std::iter::once(most.max(1)).chain(smaller).map(|height| {
        let tiles = extent.floor_div(&IntExpr::from(height));
        let part =
            Rows { begin: begin.clone(), tiles: (&(&tiles * height) - &begin).floor_div(&height.into()), height };
        begin = &tiles * height;
        part
    });
    parts.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_run_once_in_few_tiles() {
        for rows in 0..40 {
            for most in 1..=30 {
                for behind in [Behind::All, Behind::Two, Behind::One] {
                    let mut next = 0;
                    for part in parts(&IntExpr::from(rows), whole(most), behind) {
                        let tiles = part.tiles.as_const().unwrap_or(-1);
                        assert_eq!(part.begin.as_const(), Some(next), "{rows} by {most}");
                        assert!(tiles >= 0 && part.height <= most, "{rows} by {most}");
                        next += tiles * part.height;
                    }
                    assert_eq!(next, rows, "{rows} by {most}");
                }
            }
        }
    }

    #[test]
    fn tiles_are_nearly_as_high_as_they_may_be() {
        let all: Vec<i64> = (1..=14).map(whole).collect();
        assert_eq!(all, [1, 2, 3, 4, 4, 6, 6, 8, 8, 8, 8, 12, 12, 12]);
        let heights = |most, behind| -> Vec<i64> {
            parts(&IntExpr::from(100), most, behind).into_iter().map(|p| p.height).collect()
        };
        assert_eq!(heights(12, Behind::All), [12, 4, 2, 1]);
        assert_eq!(heights(12, Behind::Two), [12, 4, 1]);
        assert_eq!(heights(12, Behind::One), [12, 1]);
        assert_eq!(heights(6, Behind::All), [6, 2, 1]);
        assert_eq!(heights(6, Behind::Two), [6, 2, 1]);
        assert_eq!(heights(3, Behind::Two), [3, 1]);
        assert_eq!(heights(1, Behind::Two), [1]);
        assert_eq!(heights(1, Behind::One), [1]);
    }
}
