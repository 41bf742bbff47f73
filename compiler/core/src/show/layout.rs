//! Where boxes stand and arrows go: boxes in layers, few crossings, long arrows around boxes.
//!
//! Sugiyama's way: layers by the longest path, a cell of its own for an arrow in every layer that it passes, an order in
//! each layer by the mean of the neighbours, and then the nearest places to these means that keep the order.

use std::collections::{BTreeMap, BTreeSet};

/// Between boxes of a layer.
const GAP: f64 = 24.0;
/// Between layers, where arrows bend.
const LAYER_GAP: f64 = 44.0;
const MARGIN: f64 = 24.0;
/// What an arrow takes where it passes a layer.
const LANE: f64 = 12.0;
/// How often the order and the places are made better, down and up.
const ROUNDS: usize = 6;

/// Width and height of a box.
pub(super) type Size = (f64, f64);
/// A point, from the left and from the top.
pub(super) type Point = (f64, f64);

/// Where everything is.
#[derive(Default)]
pub(super) struct Layout {
    /// The upper left corner of each box.
    pub(super) boxes: Vec<Point>,
    /// The points of each arrow, of which there are at least two.
    pub(super) routes: Vec<Vec<Point>>,
    /// Of the whole picture.
    pub(super) size: Size,
}

/// Places boxes; an arrow goes from a box to a later one.
pub(super) fn layout(sizes: &[Size], edges: &[(usize, usize)]) -> Layout {
    let mut grid = Grid::new(sizes, edges);
    for _ in 0..ROUNDS {
        grid.sort(Side::Above);
        grid.sort(Side::Below);
    }
    grid.pack();
    for _ in 0..ROUNDS {
        grid.place(Side::Below);
        grid.place(Side::Above);
    }
    grid.finish(sizes, edges)
}

#[derive(Clone, Copy)]
enum Side {
    Above,
    Below,
}

/// A box, or an arrow where it passes a layer.
struct Cell {
    layer: usize,
    width: f64,
    above: Vec<usize>,
    below: Vec<usize>,
    /// Its centre.
    x: f64,
}

struct Grid {
    /// Boxes first, then arrows.
    cells: Vec<Cell>,
    /// The cells of each layer, from left to right.
    layers: Vec<Vec<usize>>,
    /// The cells that an arrow passes, from its box down to the other.
    chains: Vec<Vec<usize>>,
}

impl Grid {
    fn new(sizes: &[Size], edges: &[(usize, usize)]) -> Self {
        let of = layers(sizes.len(), edges);
        let cell = |layer, width| Cell { layer, width, above: Vec::new(), below: Vec::new(), x: 0.0 };
        let mut cells: Vec<Cell> = sizes.iter().zip(&of).map(|((width, _), layer)| cell(*layer, *width)).collect();
        let mut chains = Vec::new();
        for (from, to) in edges {
            let mut chain = vec![*from];
            for layer in of[*from] + 1..of[*to] {
                chain.push(cells.len());
                cells.push(cell(layer, LANE));
            }
            chain.push(*to);
            for pair in chain.windows(2) {
                cells[pair[0]].below.push(pair[1]);
                cells[pair[1]].above.push(pair[0]);
            }
            chains.push(chain);
        }
        let mut layers = vec![Vec::new(); of.iter().max().map_or(0, |last| last + 1)];
        cells.iter().enumerate().for_each(|(n, cell)| layers[cell.layer].push(n));
        Grid { cells, layers, chains }
    }

    fn beside(&self, cell: usize, side: Side) -> &[usize] {
        match side {
            Side::Above => &self.cells[cell].above,
            Side::Below => &self.cells[cell].below,
        }
    }

    fn order(&self, side: Side) -> Vec<usize> {
        let all = 0..self.layers.len();
        match side {
            Side::Above => all.collect(),
            Side::Below => all.rev().collect(),
        }
    }

    /// Sorts each layer by where the neighbours on one side stand.
    fn sort(&mut self, side: Side) {
        let mut at: Vec<f64> = vec![0.0; self.cells.len()];
        for layer in self.order(side) {
            let key = |(n, cell): (usize, &usize)| mean(self.beside(*cell, side), |n| at[n]).unwrap_or(n as f64);
            let mut keyed: Vec<(f64, usize)> =
                self.layers[layer].iter().enumerate().map(|pair| (key(pair), *pair.1)).collect();
            keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
            self.layers[layer] = keyed.into_iter().map(|(_, cell)| cell).collect();
            self.layers[layer].iter().enumerate().for_each(|(n, cell)| at[*cell] = n as f64);
        }
    }

    /// From left to right without gaps.
    fn pack(&mut self) {
        for layer in &self.layers {
            let mut left = 0.0;
            for cell in layer {
                let cell = &mut self.cells[*cell];
                cell.x = left + cell.width / 2.0;
                left += cell.width + GAP;
            }
        }
    }

    /// Moves cells of each layer towards their neighbours on one side.
    fn place(&mut self, side: Side) {
        for layer in self.order(side) {
            let cells = &self.layers[layer];
            let x = |cell: usize| self.cells[cell].x;
            let wish = |cell: &usize| {
                let all = self.beside(*cell, side);
                let heavy: Vec<usize> = all.iter().copied().filter(|n| self.shape(*n).1 == 1.0).collect();
                mean(&heavy, x).or_else(|| mean(all, x)).unwrap_or(x(*cell))
            };
            let wishes: Vec<f64> = cells.iter().map(wish).collect();
            let shapes: Vec<(f64, f64)> = cells.iter().map(|cell| self.shape(*cell)).collect();
            let placed = nearest(&wishes, &shapes);
            cells.iter().zip(placed).for_each(|(cell, x)| self.cells[*cell].x = x);
        }
    }

    /// A cell's width and weight. What nothing comes before gives way to the rest, so that chains stay straight.
    fn shape(&self, cell: usize) -> (f64, f64) {
        let cell = &self.cells[cell];
        (cell.width, if cell.above.is_empty() { 0.01 } else { 1.0 })
    }

    fn finish(self, sizes: &[Size], edges: &[(usize, usize)]) -> Layout {
        let left = self.cells.iter().map(|cell| cell.x - cell.width / 2.0).fold(f64::INFINITY, f64::min);
        let right = self.cells.iter().map(|cell| cell.x + cell.width / 2.0).fold(0.0, f64::max);
        let x = |cell: usize| self.cells[cell].x - left + MARGIN;
        let mut heights = vec![0.0_f64; self.layers.len()];
        sizes.iter().enumerate().for_each(|(n, size)| {
            let layer = self.cells[n].layer;
            heights[layer] = heights[layer].max(size.1);
        });
        let tops: Vec<f64> =
            heights.iter().scan(MARGIN, |y, h| Some(std::mem::replace(y, *y + h + LAYER_GAP))).collect();
        let top = |cell: usize| tops[self.cells[cell].layer];
        let route = |(chain, (from, to)): (&Vec<usize>, &(usize, usize))| {
            let mut points = vec![(x(*from), top(*from) + sizes[*from].1)];
            for cell in &chain[1..chain.len() - 1] {
                points.push((x(*cell), top(*cell)));
                points.push((x(*cell), top(*cell) + heights[self.cells[*cell].layer]));
            }
            points.push((x(*to), top(*to)));
            points
        };
        let bottom = tops.last().zip(heights.last()).map_or(0.0, |(top, height)| top + height);
        Layout {
            boxes: (0..sizes.len()).map(|n| (x(n) - sizes[n].0 / 2.0, top(n))).collect(),
            routes: self.chains.iter().zip(edges).map(route).collect(),
            size: if sizes.is_empty() { (0.0, 0.0) } else { (right - left + 2.0 * MARGIN, bottom + MARGIN) },
        }
    }
}

/// One layer more than what comes before; what nothing comes before stands right above its first reader.
fn layers(count: usize, edges: &[(usize, usize)]) -> Vec<usize> {
    let mut layer = vec![0; count];
    let mut sorted: Vec<&(usize, usize)> = edges.iter().collect();
    sorted.sort_by_key(|(from, to)| (*to, *from));
    sorted.iter().for_each(|(from, to)| layer[*to] = layer[*to].max(layer[*from] + 1));
    let mut first: BTreeMap<usize, usize> = BTreeMap::new();
    for (from, to) in edges {
        let least = first.entry(*from).or_insert(layer[*to]);
        *least = layer[*to].min(*least);
    }
    let reads: BTreeSet<usize> = edges.iter().map(|(_, to)| *to).collect();
    for (from, reader) in first.into_iter().filter(|(from, _)| !reads.contains(from)) {
        layer[from] = reader - 1;
    }
    layer
}

fn mean(of: &[usize], at: impl Fn(usize) -> f64) -> Option<f64> {
    (!of.is_empty()).then(|| of.iter().map(|n| at(*n)).sum::<f64>() / of.len() as f64)
}

/// The centres that are nearest to the wishes, by weighted least squares, where boxes keep their order and do not meet:
/// what would meet is pooled and shares the mean of its wishes. Boxes have a width and a weight.
fn nearest(wishes: &[f64], shapes: &[(f64, f64)]) -> Vec<f64> {
    let offsets: Vec<f64> = shapes
        .iter()
        .scan(0.0, |left, (width, _)| {
            let centre = *left + width / 2.0;
            *left += width + GAP;
            Some(centre)
        })
        .collect();
    let mut pools: Vec<Pool> = Vec::new();
    for (n, wish) in wishes.iter().enumerate() {
        let weight = shapes[n].1;
        let mut pool = Pool { sum: weight * (wish - offsets[n]), weight, count: 1 };
        while let Some(before) = pools.pop_if(|before| before.mean() >= pool.mean()) {
            pool.sum += before.sum;
            pool.weight += before.weight;
            pool.count += before.count;
        }
        pools.push(pool);
    }
    let shifts = pools.iter().flat_map(|pool| std::iter::repeat_n(pool.mean(), pool.count));
    shifts.zip(offsets).map(|(shift, offset)| shift + offset).collect()
}

/// Boxes that stand side by side.
struct Pool {
    sum: f64,
    weight: f64,
    count: usize,
}

impl Pool {
    fn mean(&self) -> f64 {
        self.sum / self.weight
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wishes_that_meet_share() {
        assert_eq!(nearest(&[0.0, 1000.0], &[(10.0, 1.0); 2]), [0.0, 1000.0]);
        assert_eq!(nearest(&[0.0, 0.0], &[(10.0, 1.0); 2]), [-17.0, 17.0]);
        assert_eq!(nearest(&[0.0, 0.0], &[(10.0, 3.0), (10.0, 1.0)]), [-8.5, 25.5]);
    }

    #[test]
    fn boxes_do_not_meet_and_arrows_go_around() {
        // a chain of four, an arrow from its first to its last, and a box beside its second
        let edges = [(0, 1), (1, 2), (2, 3), (0, 3), (0, 4)];
        let out = layout(&[(100.0, 40.0); 5], &edges);
        assert_eq!(out.routes[3].len(), 6);
        let meets = |n: usize, point: &Point| {
            let (x, y) = out.boxes[n];
            (x..=x + 100.0).contains(&point.0) && (y..=y + 40.0).contains(&point.1)
        };
        assert!(out.routes[3][1..5].iter().all(|point| (0..5).all(|n| !meets(n, point))));
        assert!((out.boxes[1].0 - out.boxes[4].0).abs() >= 100.0 + GAP);
        assert!(out.boxes.iter().all(|(x, y)| *x >= MARGIN && x + 100.0 <= out.size.0 && y + 40.0 <= out.size.1));
    }

    #[test]
    fn what_nothing_comes_before_stands_above_its_reader() {
        assert_eq!(layers(4, &[(0, 1), (1, 3), (2, 3)]), [0, 1, 1, 2]);
        assert_eq!(layout(&[], &[]).size, (0.0, 0.0));
    }
}
