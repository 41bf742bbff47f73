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

/// Elements of a tile: all, or tiles as even as vectors allow.
pub(super) fn even(extent: &IntExpr, most: i64, vector: i64) -> i64 {
    let Some(n) = extent.as_const().filter(|n| *n > 0) else { return most };
    let tiles = (n + most - 1) / most;
    let even = (n + tiles - 1) / tiles;
    if tiles == 1 { n } else { (even + vector - 1) / vector * vector }
}
