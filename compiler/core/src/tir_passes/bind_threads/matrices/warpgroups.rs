//! Where four warps multiply together: they find both factors in shared memory, a ring of stages in which one is multiplied
//! while the one before it ends and those behind it come.

use tenfold_ir::op::CmpOp;
use tenfold_ir::tir::warp::TILE;
use tenfold_ir::tir::{Barrier, BufId, ExprId, Lines, LoopKind, Scope, Stmt, WARPGROUP, Warp};

use super::super::sums::store;
use super::tensors::Boxes;
use super::{Bind, Here, Staged, Tiles};
use crate::tir_passes::kernel::constant;

/// Stages that products hold: one is on its way while another one begins.
const HELD: i64 = 2;

/// All threads of the group wait for each other, and for copies but those of the last so many stages.
fn meet(leaves: i64) -> Stmt {
    Stmt::Barrier(Barrier { scope: Scope::SharedDyn, leaves: leaves as u8 })
}

impl Tiles {
    /// The sums of all terms. A stage is written again once every warpgroup has waited for its product, and come to the
    /// barrier behind that.
    pub(super) fn ring(&self, bind: &mut Bind<'_>, here: &Here, staged: &[Staged; 2], sums: BufId) -> Stmt {
        if let Some(boxes) = &here.boxes {
            return self.ring_of_boxes(bind, here, (staged, boxes), sums);
        }
        let ahead = self.tile.stages - HELD;
        let step = bind.b.index_var("step");
        let (at, zero) = (bind.b.read(step), bind.b.index(0));
        let count = bind.parts(here.terms, self.depth());
        let mut all = vec![meet(0)];
        for n in 0..ahead {
            let number = bind.b.index(n);
            all.push(self.fetch_of(bind, here, staged, (number, count)));
            all.extend((n + 1 < ahead).then(|| meet(ahead)));
        }
        let later = bind.b.index(ahead);
        let later = bind.b.add(at, later);
        let body = Stmt::seq([
            meet(ahead - 1),
            self.product_of(bind, here, (staged, at), sums),
            self.fetch_of(bind, here, staged, (later, count)),
            self.wait_for(bind, sums, 1),
        ]);
        all.push(Stmt::loop_(step, zero, count, LoopKind::Serial, body));
        all.push(self.wait_for(bind, sums, 0));
        Stmt::seq(all)
    }

    /// Likewise where one thread has boxes copied, and nobody waits for copies of their own.
    fn ring_of_boxes(
        &self,
        bind: &mut Bind<'_>,
        here: &Here,
        (staged, boxes): (&[Staged; 2], &Boxes),
        sums: BufId,
    ) -> Stmt {
        let ahead = self.tile.stages - HELD;
        let step = bind.b.index_var("step");
        let (at, zero) = (bind.b.read(step), bind.b.index(0));
        let count = bind.parts(here.terms, self.depth());
        let mut all = vec![self.ready(bind, here, boxes)];
        for n in 0..ahead {
            let number = bind.b.index(n);
            let copies = self.copies(bind, here, (staged, boxes), number);
            all.push(bind.if_there(copies, (number, count)));
        }
        let later = bind.b.index(ahead);
        let later = bind.b.add(at, later);
        let copies = self.copies(bind, here, (staged, boxes), later);
        let body = Stmt::seq([
            meet(0),
            self.wait_for_boxes(bind, boxes, at),
            self.product_of(bind, here, (staged, at), sums),
            bind.if_there(copies, (later, count)),
            self.wait_for(bind, sums, 1),
        ]);
        all.push(Stmt::loop_(step, zero, count, LoopKind::Serial, body));
        all.push(self.wait_for(bind, sums, 0));
        Stmt::seq(all)
    }

    /// The copies of a step begin, if there is one.
    fn fetch_of(
        &self,
        bind: &mut Bind<'_>,
        here: &Here,
        staged: &[Staged; 2],
        (step, count): (ExprId, ExprId),
    ) -> Stmt {
        let copies = self.fetch(bind, here, staged, step);
        bind.if_there(copies, (step, count))
    }

    /// A warpgroup begins the product of its rows and all columns.
    fn product_of(
        &self,
        bind: &mut Bind<'_>,
        here: &Here,
        (staged, step): (&[Staged; 2], ExprId),
        sums: BufId,
    ) -> Stmt {
        let panel = (TILE * TILE) as i64 * self.narrow.each();
        let group = bind.quotient(here.thread, WARPGROUP);
        let own = bind.times(group, panel);
        let [rows, columns] = staged.each_ref().map(|staged| staged.stage(bind, step));
        let rows = bind.b.add(rows, own);
        let places = [bind.ramp(rows, panel), bind.ramp(columns, self.tile.size[1] * self.depth())];
        let [a, b] = [0, 1].map(|n: usize| bind.vector(staged[n].shared, places[n]));
        let at = self.all_sums(bind);
        let c = bind.vector(sums, at);
        let lines = Lines { rows: !staged[0].along_terms, columns: !staged[1].along_terms };
        let value = bind.together(Warp::Wgmma(lines), vec![a, b, c]);
        store(sums, at, value)
    }

    fn wait_for(&self, bind: &mut Bind<'_>, sums: BufId, left: u8) -> Stmt {
        let at = self.all_sums(bind);
        let own = bind.vector(sums, at);
        let value = bind.together(Warp::WgmmaWait(left), vec![own]);
        store(sums, at, value)
    }

    /// The places of a thread's sums.
    fn all_sums(&self, bind: &mut Bind<'_>) -> ExprId {
        let zero = bind.b.index(0);
        bind.ramp(zero, self.sums())
    }
}

impl Bind<'_> {
    /// What is done for a step, if there is one of that number.
    fn if_there(&mut self, then: Stmt, (step, count): (ExprId, ExprId)) -> Stmt {
        let func = self.b.func();
        if matches!((constant(func, step), constant(func, count)), (Some(step), Some(count)) if step < count) {
            return then;
        }
        let cond = self.b.compare(CmpOp::Lt, step, count);
        Stmt::If { cond, then: Box::new(then), otherwise: None }
    }

    /// What the first thread does alone.
    pub(super) fn by_first(&mut self, thread: ExprId, then: Stmt) -> Stmt {
        let zero = self.b.index(0);
        let cond = self.b.compare(CmpOp::Eq, thread, zero);
        Stmt::If { cond, then: Box::new(then), otherwise: None }
    }
}
