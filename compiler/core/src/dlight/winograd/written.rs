//! The loops of a convolution by transforms.

use tenfold_ir::arith::IntExpr;
use tenfold_ir::tir::{BufId, Builder, ExprId, LoopKind, PrimFunc, Scope, Stmt, substitution};

use super::found::{Convolution, Ends, is_plain};
use super::operands::over;
use super::plan::{Bands, Plan, shares};
use super::{operands, products};
use crate::dlight::emit::{self, Places, Strip, each, plus, strips, times};
use crate::dlight::walk::straight;
use crate::fuse::access::loads;
use crate::fuse::stage::{Stage, Staged};

/// What all parts of a kernel know.
pub(super) struct Kernel<'a> {
    pub found: &'a Convolution,
    pub plan: &'a Plan,
    /// Sums of the data: image, or share of the bands, product, square, channel of the data.
    pub data: BufId,
    /// Sums of weights: slot, product, channel of the data in a block, channel of the panel.
    pub weights: BufId,
    /// Sums of the blocks that are done, where there are several: slot, image, product, square, channel of the panel.
    pub sums: Option<BufId>,
    /// Channels of the results in panels.
    pub panels: Vec<Panels>,
}

/// Panels of one width.
pub(super) struct Panels {
    pub strip: Strip,
    /// In how many shares.
    pub shares: i64,
    /// The first one's slot.
    pub first: i64,
    /// Whether all panels of a share have the same slot: sums of weights are made right before they are used, block by
    /// block.
    pub shared: bool,
}

/// A panel, at some place of the loops.
#[derive(Clone, Copy)]
pub(super) struct Panel {
    /// Where its sums are.
    pub slot: ExprId,
    /// Its first channel.
    pub channel: ExprId,
}

/// Lines of squares of an image, all of them unless it is in bands.
#[derive(Clone, Copy)]
pub(super) struct Band<'a> {
    pub image: &'a Places,
    /// Where its sums of data are, if not with those of the image.
    pub slot: Option<ExprId>,
    /// Its first line, and how many there are.
    pub first: ExprId,
    pub lines: i64,
}

/// A block of terms: along the first of their axes, where it begins and how much it is.
#[derive(Clone, Copy)]
pub(super) struct Block {
    pub begin: ExprId,
    pub extent: i64,
}

impl Panels {
    /// How many there are.
    fn count(&self) -> i64 {
        self.strip.turns.as_const().unwrap_or(0)
    }

    /// How many slots they have.
    fn at_once(&self) -> i64 {
        if self.shared { self.shares } else { self.count() }
    }

    /// Loops over them.
    pub(super) fn each(&self, b: &mut Builder, f: &mut dyn FnMut(&mut Builder, Panel)) {
        let of_share = self.count() / self.shares;
        emit::each(b, "share", &self.shares.into(), LoopKind::Serial, &mut |b, share| {
            emit::each(b, "panel", &of_share.into(), LoopKind::Serial, &mut |b, turn| {
                let before = times(b, share, of_share);
                let number = plus(b, before, turn);
                let (first, begin) = (b.index(self.first), b.int_expr(&self.strip.begin));
                let slot = plus(b, first, if self.shared { share } else { number });
                let offset = times(b, number, self.strip.width());
                let channel = plus(b, begin, offset);
                f(b, Panel { slot, channel });
            });
        });
    }
}

/// The kernel.
pub(super) fn written(
    staged: Staged,
    found: &Convolution,
    plan: &Plan,
    behind: impl FnOnce(Staged) -> PrimFunc,
) -> PrimFunc {
    let (panels, products) = (panels(found, plan), plan.size.products());
    let outer: Vec<i64> = found.outer.iter().map(|a| a.extent).collect();
    let squares = plan.squares[0] * plan.squares[1];
    let slots: i64 = panels.iter().map(Panels::at_once).sum();
    let shares = plan.bands.map(|bands| vec![bands.shares]);
    let of_data = [&shares.unwrap_or_else(|| outer.clone())[..], &[products, plan.plane, plan.stride]].concat();
    let of_sums = [&[slots], &outer[..], &[products, squares, plan.width()]].concat();
    within(staged, &found.ends, behind, |b| {
        let mut alloc = |name: &str, shape: &[i64]| {
            let shape = shape.iter().map(|n| IntExpr::from(*n)).collect();
            b.alloc(name, found.dtype, shape, Scope::Global)
        };
        let data = alloc("data", &of_data);
        let weights = alloc("weights", &[slots, products, plan.block_plane, plan.width()]);
        let sums = (plan.block < plan.terms).then(|| alloc("sums", &of_sums));
        let kernel = Kernel { found, plan, data, weights, sums, panels };
        if let Some(bands) = plan.bands {
            return kernel.in_bands(b, bands);
        }
        kernel.each_image(b, &mut |b, image| operands::data(b, &kernel, image));
        for panels in &kernel.panels {
            if !panels.shared {
                let block = kernel.whole(b);
                panels.each(b, &mut |b, panel| operands::weights(b, &kernel, &panels.strip, panel, block));
            }
            panels.each(b, &mut |b, panel| products::panel(b, &kernel, panels, panel));
        }
    })
}

impl Kernel<'_> {
    /// Bands, each from its data to its results, by weights whose sums are all made before.
    fn in_bands(&self, b: &mut Builder, bands: Bands) {
        let block = self.whole(b);
        for panels in &self.panels {
            panels.each(b, &mut |b, panel| operands::weights(b, self, &panels.strip, panel, block));
        }
        let of_share = self.plan.squares[0] / bands.lines / bands.shares;
        over(b, &self.found.outer, &Places::new(), &mut |b, image| {
            emit::each(b, "bands", &bands.shares.into(), LoopKind::Serial, &mut |b, share| {
                emit::each(b, "band", &of_share.into(), LoopKind::Serial, &mut |b, turn| {
                    let before = times(b, share, of_share);
                    let number = plus(b, before, turn);
                    let first = times(b, number, bands.lines);
                    let band = Band { image, slot: Some(share), first, lines: bands.lines };
                    operands::data(b, self, band);
                    for panels in &self.panels {
                        panels.each(b, &mut |b, panel| products::in_band(b, self, panels, panel, band));
                    }
                });
            });
        });
    }

    /// Every image as one band.
    pub(super) fn each_image(&self, b: &mut Builder, f: &mut dyn FnMut(&mut Builder, Band<'_>)) {
        over(b, &self.found.outer, &Places::new(), &mut |b, image| {
            let first = b.index(0);
            f(b, Band { image, slot: None, first, lines: self.plan.squares[0] });
        });
    }

    /// The image of a band, as an index.
    pub(super) fn image(&self, band: Band<'_>) -> Vec<ExprId> {
        self.found.outer.iter().map(|a| band.image[&a.var]).collect()
    }

    /// Where a sum of the data is: of which product, square of the band and channel.
    pub(super) fn data_at(&self, band: Band<'_>, own: [ExprId; 3]) -> Vec<ExprId> {
        let before = band.slot.map_or_else(|| self.image(band), |slot| vec![slot]);
        [&before[..], &own].concat()
    }

    /// All terms.
    pub(super) fn whole(&self, b: &mut Builder) -> Block {
        Block { begin: b.index(0), extent: self.found.terms[0].extent }
    }
}

/// The kernel with what makes and writes its results, and with what runs around that: stages that sum over rows of the
/// results share loops as they would in a kernel of their own.
pub(in crate::dlight) fn within(
    staged: Staged,
    ends: &Ends,
    behind: impl FnOnce(Staged) -> PrimFunc,
    results: impl FnOnce(&mut Builder),
) -> PrimFunc {
    let Staged { mut b, mut allocs, .. } = staged;
    let [before, after] = &ends.around;
    allocs.retain(|buf| *buf != ends.sum || *buf == ends.out.0);
    if !after.iter().all(is_plain) {
        let (body, ()) = b.scope(results);
        let products = Stage { name: "products".into(), iters: Vec::new(), init: None, body, loc: None };
        let stages = before.iter().chain([&products]).chain(after).cloned().collect();
        return behind(Staged { b, allocs, stages });
    }
    b.open_scope();
    before.iter().for_each(|stage| plain(&mut b, stage));
    results(&mut b);
    after.iter().for_each(|stage| plain(&mut b, stage));
    let mut body = b.close_scope();
    for buf in allocs {
        body = Stmt::Alloc { buf, body: Box::new(body) };
    }
    b.push(body);
    b.finish()
}

/// Channels of the results in panels of whole vectors, as far as there are some.
fn panels(found: &Convolution, plan: &Plan) -> Vec<Panels> {
    let mut all: Vec<Panels> = Vec::new();
    for strip in strips(&found.channel.extent.into(), plan.vectors, plan.lanes) {
        let count = strip.turns.as_const().unwrap_or(0);
        let shares = if plan.near { 1 } else { shares(count) };
        let shared = !plan.near;
        all.push(Panels { strip, shares, first: all.iter().map(Panels::at_once).sum(), shared });
    }
    all
}

/// A stage as plain loops, the innermost in vectors if its elements are neighbours.
fn plain(b: &mut Builder, stage: &Stage) {
    fn inside(b: &mut Builder, stage: &Stage, depth: usize, places: &Places) {
        let Some(iter) = stage.iters.get(depth) else {
            let body = substitution(places).stmt(b, stage.body.clone());
            return b.push(body);
        };
        let Stmt::Store { buf, index, value, .. } = &stage.body else { return };
        let stored = b.load(*buf, index.clone(), tenfold_ir::tir::Access::Proven);
        let func = b.func();
        let reads_own = loads(func, [*value]).iter().any(|a| a.buf == *buf);
        let vectors = depth + 1 == stage.iters.len()
            && !reads_own
            && [stored, *value].into_iter().all(|id| straight(func, id, iter.var));
        let kind = if vectors { LoopKind::Vectorized } else { LoopKind::Serial };
        let extent = tenfold_ir::tir::Viewer::new(func).int(iter.extent);
        each(b, "i", &extent, kind, &mut |b, at| {
            let mut places = places.clone();
            places.insert(iter.var, at);
            inside(b, stage, depth + 1, &places);
        });
    }
    inside(b, stage, 0, &Places::new());
}
