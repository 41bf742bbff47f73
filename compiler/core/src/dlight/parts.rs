//! An axis in tiles of one width, and what is left.

use tenfold_ir::arith::IntExpr;

/// Tiles of one width.
pub(super) struct Part {
    /// Where the first one begins.
    pub begin: IntExpr,
    /// How many there are.
    pub tiles: IntExpr,
    /// What each has.
    pub width: IntExpr,
    /// The most that it may have.
    pub room: i64,
}

/// Whole tiles, and what is left.
pub(super) fn parts(extent: &IntExpr, width: i64) -> Vec<Part> {
    let tiles = extent.floor_div(&IntExpr::from(width));
    let whole = &tiles * width;
    let rest = extent - &whole;
    let all = [
        Part { begin: 0.into(), tiles, width: width.into(), room: width },
        Part { begin: whole, tiles: 1.into(), room: rest.as_const().unwrap_or(width), width: rest },
    ];
    let some = |part: &Part| part.tiles.as_const() != Some(0) && part.width.as_const() != Some(0);
    all.into_iter().filter(some).collect()
}
