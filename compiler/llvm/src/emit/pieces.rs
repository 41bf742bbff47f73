//! What comes from memory, once, is read in pieces.
//!
//! A core has room for two or three times as many reads that wait as for lines of a cache that it waits for. Where each read is a
//! whole line, and little is done with it, those that come soon are all that it waits for, and what it would ask for ahead of
//! them is left undone. In pieces of a line they fill the room before. (Zen 4: 88 reads, 24 lines.)

use std::collections::{BTreeMap, BTreeSet};

use tenfold_core::Target;
use tenfold_ir::arith::{IntExpr, Sym};
use tenfold_ir::tir::{BufId, CallArg, Expr, Param, PrimFunc, Scope, Stmt, VarId, Viewer, accesses, read};
use tenfold_ir::{ConstBytes, Module};

use super::streams::is_little;

/// Bytes of a piece: the narrowest vector.
pub(super) const PIECE: u32 = 16;

/// The last cache has at least so many shares of a core.
const LAST: i64 = 2;

/// Bytes of a core's second cache: what is less may be there, whatever else a call reads.
const SECOND: i64 = 1 << 20;

/// What is passed to functions from memory: constants of a program that has more of them than the last cache holds.
#[derive(Default)]
pub(super) struct Far<'m> {
    of: BTreeSet<(&'m str, usize)>,
}

impl<'m> Far<'m> {
    /// The functions of a module by name, and by its number the parameter.
    pub(super) fn of(module: &'m Module, target: &Target) -> Self {
        let mut far = Far::default();
        if share(target).is_none_or(|share| bytes_of_constants(module) < LAST * share) {
            return far;
        }
        let mut known = usize::MAX;
        // A constant that a function is passed it may pass on.
        while known != far.of.len() {
            known = far.of.len();
            module.prims().for_each(|prim| far.pass(prim));
        }
        far
    }

    fn pass(&mut self, prim: &'m PrimFunc) {
        let mut found = Vec::new();
        prim.body.walk(&mut |s| {
            let Stmt::Call { func, args, .. } = s else { return };
            let far = |arg: &CallArg| matches!(arg, CallArg::Buffer(buf) if self.has(prim, *buf));
            found.extend((0..args.len()).filter(|n| far(&args[*n])).map(|n| (func, n)));
        });
        self.of.extend(found.into_iter().map(|(func, n)| (func.as_str(), n)));
    }

    fn has(&self, prim: &PrimFunc, buf: BufId) -> bool {
        let place = prim.params.iter().position(|p| matches!(p, Param::Buffer(of, _) if *of == buf));
        let constant = matches!(prim.buffers[buf.0 as usize].scope, Scope::Const(_));
        constant || place.is_some_and(|n| self.of.contains(&(prim.name.as_str(), n)))
    }
}

/// Bytes of all constants of a program: one call reads them all before the next one does.
fn bytes_of_constants(module: &Module) -> i64 {
    let bytes = |data: &ConstBytes| match data {
        ConstBytes::Inline(bytes) => bytes.len() as u64,
        ConstBytes::File { len, .. } => *len,
    };
    let all: u64 = module.constants.iter().map(|data| bytes(&data.bytes)).sum();
    i64::try_from(all).unwrap_or(i64::MAX)
}

/// The parameters that loops read in pieces, by the variable of the loop: they come from memory, are read once, and little
/// is done with them. Of loops along one row the first one finds it in memory.
pub(super) fn in_pieces(prim: &PrimFunc, far: &Far<'_>, target: &Target) -> BTreeMap<VarId, BTreeSet<BufId>> {
    let mut all: BTreeMap<VarId, BTreeSet<BufId>> = BTreeMap::new();
    let Some(share) = share(target) else { return all };
    let much = bytes_of_parameters(prim) >= LAST * share;
    let mut reads = Reads { viewer: Viewer::new(prim), around: Vec::new(), first: BTreeMap::new() };
    reads.visit(&prim.body);
    for (buf, first) in reads.first {
        if let Some(var) = first.filter(|_| much || far.has(prim, buf)) {
            all.entry(var).or_default().insert(buf);
        }
    }
    all
}

/// What a core has of the last cache, where reads in pieces are faster than reads of lines.
fn share(target: &Target) -> Option<i64> {
    target.past_caches().filter(|_| !target.reads_lines())
}

fn bytes_of_parameters(prim: &PrimFunc) -> i64 {
    let bytes = |param: &Param| match param {
        Param::Buffer(buf, _) => prim.buffers[buf.0 as usize].bytes(),
        Param::Value(_) | Param::Workspace => None,
    };
    prim.params.iter().filter_map(bytes).fold(0, i64::saturating_add)
}

struct Reads<'f> {
    viewer: Viewer<'f>,
    /// The loops around of more than one turn, from the outermost on.
    around: Vec<VarId>,
    /// The first loop that reads a buffer; none if it shall not do so in pieces.
    first: BTreeMap<BufId, Option<VarId>>,
}

impl Reads<'_> {
    fn visit(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::For { var, extent, body, .. } => {
                let several = self.viewer.func().literal(*extent) != Some(1);
                self.around.extend(several.then_some(*var));
                match body.any(&mut |s| matches!(s, Stmt::For { .. } | Stmt::While { .. })) {
                    true => self.visit(body),
                    false => self.innermost(*var, body),
                }
                if several {
                    self.around.pop();
                }
            }
            Stmt::Let { var, value, body } => {
                self.viewer.bind(*var, *value);
                self.visit(body);
            }
            // It may read the same again and again.
            Stmt::While { .. } => {}
            other => other.children().into_iter().for_each(|s| self.visit(s)),
        }
    }

    fn innermost(&mut self, var: VarId, body: &Stmt) {
        let prim = self.viewer.func();
        let little = !body.any(&mut |s| !does_little(prim, s));
        for buf in read(prim, body).into_iter().filter(|buf| is_large(prim, *buf)) {
            let once = self.once(body, buf);
            let first = self.first.entry(buf).or_insert(once.then_some(var));
            if !little {
                *first = None;
            }
        }
    }

    /// Whether a statement reads neighbours of a buffer, others in each turn of all loops around.
    fn once(&mut self, body: &Stmt, buf: BufId) -> bool {
        let prim = self.viewer.func();
        let around: Vec<Sym> = self.around.iter().map(|var| self.viewer.sym(*var)).collect();
        accesses(prim, body).into_iter().filter(|a| a.buf == buf).all(|access| {
            let Some([at]) = access.index.as_deref() else { return false };
            let Expr::Ramp(first, stride, _) = *prim.exprs.get(*at) else { return false };
            let first = self.viewer.int(first);
            prim.literal(stride) == Some(1) && around.iter().all(|sym| step(&first, sym).is_some_and(|n| n != 0))
        })
    }
}

/// Whether a statement of a loop does nothing but to store what takes few operations. What takes none LLVM would write in
/// pieces, too.
fn does_little(prim: &PrimFunc, stmt: &Stmt) -> bool {
    match stmt {
        Stmt::Store { value, .. } if matches!(prim.exprs.get(*value), Expr::Load { .. }) => false,
        Stmt::Store { value, .. } => is_little(prim, &prim.reachable([*value])),
        Stmt::Seq(_) | Stmt::At(..) | Stmt::Alloc { .. } | Stmt::Prefetch { .. } => true,
        _ => false,
    }
}

fn is_large(prim: &PrimFunc, buf: BufId) -> bool {
    let data = &prim.buffers[buf.0 as usize];
    let passed = prim.params.iter().any(|p| matches!(p, Param::Buffer(of, _) if *of == buf));
    passed && data.strides.is_none() && data.bytes().is_some_and(|bytes| bytes >= SECOND)
}

/// By how much an index is greater a turn later.
fn step(index: &IntExpr, sym: &Sym) -> Option<i64> {
    let next = IntExpr::var(sym.clone()) + IntExpr::from(1);
    (&index.substitute(&|s| (s == sym).then(|| next.clone())) - index).as_const()
}
