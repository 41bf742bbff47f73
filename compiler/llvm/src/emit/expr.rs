//! Expressions: each is written once per statement, inside the branch that needs it.

use std::collections::{BTreeMap, BTreeSet};

use tenfold_core::Arch;
use tenfold_ir::{
    DType,
    op::BinaryOp,
    tir::{BufId, Elem, Expr, ExprId, Intrinsic, PrimFunc, Ty},
};

use super::{
    function::{Body, Result},
    ops::Kind,
    pieces, streams,
};
use crate::ir::{Type, Value};

impl<'c> Body<'_, 'c, '_> {
    /// The value of an expression.
    pub(super) fn expr(&mut self, id: ExprId) -> Result<Value<'c>> {
        if let Some(known) = self.known.iter().rev().find_map(|layer| layer.get(&id)) {
            return Ok(*known);
        }
        let value = self.write_expr(id)?;
        if let Some(layer) = self.known.last_mut() {
            layer.insert(id, value);
        }
        Ok(value)
    }

    fn write_expr(&mut self, id: ExprId) -> Result<Value<'c>> {
        let ir = self.cx.ir;
        match self.node(id) {
            Expr::Const(value) => Ok(self.ops.literal(*value)),
            Expr::Index(value) => Ok(ir.const_int(ir.int(64), *value)),
            Expr::Var(var) => self.var(*var),
            Expr::Unary(op, a) => {
                let value = self.expr(*a)?;
                self.ops.unary(*op, self.kind(*a), value).map_err(|error| unexpanded(&error.0))
            }
            Expr::Binary(BinaryOp::Add, sum, dot) if self.is_dot(*dot) => self.dot(*dot, Some(*sum)),
            Expr::Binary(op, a, b) => {
                let (x, y) = (self.expr(*a)?, self.expr(*b)?);
                let exact = self.counters.exact(self.prim, id);
                match op {
                    BinaryOp::Add if exact => return Ok(ir.add_exact(x, y)),
                    BinaryOp::Sub if exact => return Ok(ir.sub_exact(x, y)),
                    BinaryOp::Mul if exact => return Ok(ir.mul_exact(x, y)),
                    _ => {}
                }
                let done = self.ops.binary(*op, self.kind(*a), false, x, y);
                done.map_err(|error| unexpanded(&error.0))
            }
            Expr::Compare(op, a, b) => {
                let (x, y) = (self.expr(*a)?, self.expr(*b)?);
                Ok(self.ops.compare(*op, self.kind(*a), x, y))
            }
            Expr::If(cond, a, b) => self.choose(*cond, *a, *b),
            Expr::Select(cond, a, b) => {
                let cond = self.expr(*cond)?;
                let (x, y) = (self.expr(*a)?, self.expr(*b)?);
                Ok(ir.select(cond, x, y))
            }
            Expr::Cast(ty, a) => {
                if let Some(high) = self.rounded_high(*ty, *a)? {
                    return Ok(high);
                }
                let value = self.expr(*a)?;
                Ok(self.ops.cast(self.kind(*a), Kind::of(ty.elem), value))
            }
            Expr::Load { buf, index, access: _ } => self.load(*buf, index, self.prim.exprs.ty(id)),
            Expr::Call(Intrinsic::Dot(_), ..) => self.dot(id, None),
            Expr::Call(Intrinsic::Word, args, _) => self.word(args),
            Expr::Call(Intrinsic::Warp(f), args, _) => self.warp(*f, args),
            Expr::Call(Intrinsic::Group(f), ..) => {
                Err(format!("`{}`, which warps make by `shuffle_xor` here", f.name()))
            }
            Expr::Call(Intrinsic::CopyTensor | Intrinsic::Mbarrier(_), ..) => {
                Err("a copy of a box, or what tells of one, that is not stored".into())
            }
            Expr::Call(Intrinsic::UntilAligned, args, _) => self.until_aligned(args),
            Expr::Call(Intrinsic::CopyAsync, ..) => Err("a copy that goes on by itself, but is not stored".into()),
            Expr::Call(function, args, ty) => self.intrinsic(*function, args, *ty),
            Expr::Ramp(base, stride, lanes) => self.ramp(*base, *stride, *lanes),
            Expr::Broadcast(a, lanes) => {
                let value = self.expr(*a)?;
                Ok(ir.splat(value, u32::from(*lanes)))
            }
            Expr::Shuffle(vectors, lanes) => self.shuffle(vectors, lanes, self.prim.exprs.ty(id)),
        }
    }

    /// `cond ? a : b`, of which only one is evaluated if it reads memory.
    fn choose(&mut self, cond: ExprId, a: ExprId, b: ExprId) -> Result<Value<'c>> {
        let ir = self.cx.ir;
        let test = self.expr(cond)?;
        if !self.reads(a) && !self.reads(b) {
            let (x, y) = (self.expr(a)?, self.expr(b)?);
            return Ok(ir.select(test, x, y));
        }
        let (yes, no, after) = (self.block(), self.block(), self.block());
        ir.branch(test, yes, no);
        let (x, x_end) = self.branch(yes, a)?;
        ir.jump(after);
        let (y, y_end) = self.branch(no, b)?;
        ir.jump(after);
        ir.at_end(after);
        let value = ir.phi(x.ty());
        ir.incoming(value, x, x_end);
        ir.incoming(value, y, y_end);
        Ok(value)
    }

    /// An expression in a block of its own, and the block where it ends.
    fn branch(&mut self, block: crate::ir::Block<'c>, id: ExprId) -> Result<(Value<'c>, crate::ir::Block<'c>)> {
        self.cx.ir.at_end(block);
        self.known.push(BTreeMap::new());
        let value = self.expr(id);
        self.known.pop();
        Ok((value?, self.cx.ir.here()))
    }

    /// Whether evaluating an expression reads memory, beyond what the statement has read already.
    fn reads(&self, id: ExprId) -> bool {
        // Expressions share their parts: each is looked at once.
        let (mut seen, mut open) = (BTreeSet::new(), vec![id]);
        while let Some(id) = open.pop() {
            if !seen.insert(id) || self.known.iter().any(|layer| layer.contains_key(&id)) {
                continue;
            }
            match self.node(id) {
                Expr::Load { .. } => return true,
                Expr::Const(_) | Expr::Index(_) | Expr::Var(_) => {}
                Expr::Unary(_, a) | Expr::Cast(_, a) | Expr::Broadcast(a, _) => open.push(*a),
                Expr::Binary(_, a, b) | Expr::Compare(_, a, b) | Expr::Ramp(a, b, _) => open.extend([*a, *b]),
                Expr::If(a, b, c) | Expr::Select(a, b, c) => open.extend([*a, *b, *c]),
                Expr::Call(_, args, _) | Expr::Shuffle(args, _) => open.extend(args),
            }
        }
        false
    }

    fn intrinsic(&mut self, function: Intrinsic, args: &[ExprId], ty: Ty) -> Result<Value<'c>> {
        if function == Intrinsic::Lookup {
            return self.lookup(args, ty);
        }
        let values: Vec<Value<'c>> = args.iter().map(|arg| self.expr(*arg)).collect::<Result<_>>()?;
        match (function, values.as_slice()) {
            (Intrinsic::Fma, [a, b, c]) => {
                self.ops.fma(Kind::of(ty.elem), *a, *b, *c).map_err(|error| unexpanded(&error.0))
            }
            (Intrinsic::Scalef, [x, n]) => self.scalef(*x, *n),
            (Intrinsic::Ex2, [x]) if self.cx.target.device.is_some_and(tenfold_core::Device::is_ptx) => {
                Ok(self.cx.ir.intrinsic("llvm.nvvm.ex2.approx.ftz", &[x.ty()], &[*x]))
            }
            (Intrinsic::Ex2, _) => Err("only NVIDIA's GPUs have `ex2`".into()),
            (Intrinsic::ExpNonpositive, _) => Err(unexpanded("`exp_nonpositive`")),
            (Intrinsic::QMultiplyShift, _) => Err(unexpanded("`q_multiply_shift`")),
            (Intrinsic::NearestInt, _) => Err(unexpanded("`nearest_int`")),
            (Intrinsic::Bitcast, [a]) => {
                let to = self.ops.ty(Kind::of(ty.elem), u32::from(ty.lanes));
                Ok(self.cx.ir.bitcast(*a, to))
            }
            (
                Intrinsic::Fma
                | Intrinsic::Bitcast
                | Intrinsic::Lookup
                | Intrinsic::Scalef
                | Intrinsic::Word
                | Intrinsic::Dot(_)
                | Intrinsic::Warp(_)
                | Intrinsic::Group(_)
                | Intrinsic::UntilAligned
                | Intrinsic::CopyAsync
                | Intrinsic::CopyTensor
                | Intrinsic::Mbarrier(_),
                _,
            ) => Err(format!("`{function:?}` has {} operands", values.len())),
        }
    }

    /// The elements from one on until the first one whose address is a multiple.
    fn until_aligned(&mut self, args: &[ExprId]) -> Result<Value<'c>> {
        let ir = self.cx.ir;
        let [place, bytes] = args else { return Err(format!("`until_aligned` of {} operands", args.len())) };
        let (Expr::Load { buf, index, .. }, Expr::Index(bytes)) = (self.node(*place), self.node(*bytes)) else {
            return Err("`until_aligned` of what is no element, or of no literal".into());
        };
        let [index] = index[..] else { return Err("`until_aligned` of an element with several indices".into()) };
        let (base, at) = (self.base(*buf)?, self.as_index(index)?);
        let dtype = self.prim.buffers[buf.0 as usize].dtype;
        let word = ir.int(self.cx.target.pointer_bits);
        let place = ir.element(self.memory_type(Ty::scalar(dtype)), base, at);
        let behind = ir.sub(ir.const_int(word, 0), ir.address(place, word));
        let rest = ir.and(behind, ir.const_int(word, bytes - 1));
        let size = i64::from((dtype.size_bytes() as u32).trailing_zeros());
        Ok(ir.resize(false, ir.shr(false, rest, ir.const_int(word, size)), self.ops.ty(Kind::of(Elem::Index), 1)))
    }

    fn ramp(&mut self, base: ExprId, stride: ExprId, lanes: u16) -> Result<Value<'c>> {
        let ir = self.cx.ir;
        let (first, step) = (self.expr(base)?, self.expr(stride)?);
        let numbers: Vec<Value<'c>> = (0..lanes).map(|lane| ir.const_int(first.ty(), i64::from(lane))).collect();
        let lanes = u32::from(lanes);
        let moved = ir.mul(ir.splat(step, lanes), ir.const_vector(&numbers));
        Ok(ir.add(ir.splat(first, lanes), moved))
    }

    /// Lanes picked from those of all vectors.
    fn shuffle(&mut self, vectors: &[ExprId], lanes: &[u16], ty: Ty) -> Result<Value<'c>> {
        let ir = self.cx.ir;
        let mut values = Vec::new();
        for vector in vectors {
            values.push(self.expr(*vector)?);
        }
        let widths: Vec<u16> = vectors.iter().map(|vector| self.prim.exprs.ty(*vector).lanes).collect();
        if lanes.iter().any(|lane| *lane >= widths.iter().sum()) {
            return Err("a shuffle picks a lane that is not there".into());
        }
        let picked = lanes.iter().map(|lane| u32::from(*lane));
        let out = match (&values[..], &widths[..]) {
            ([one], [width]) if *width > 1 && ty.lanes > 1 => ir.shuffle(*one, *one, picked),
            ([first, second], [width, other]) if *width > 1 && width == other && ty.lanes > 1 => {
                ir.shuffle(*first, *second, picked)
            }
            _ => self.picked_lanes(&values, &widths, lanes, ty),
        };
        Ok(if self.cycles(lanes, ty) { ir.opaque(out) } else { out })
    }

    /// The same one by one, from vectors of any length.
    fn picked_lanes(&self, values: &[Value<'c>], widths: &[u16], lanes: &[u16], ty: Ty) -> Value<'c> {
        let ir = self.cx.ir;
        let mut all = Vec::new();
        for (value, width) in values.iter().zip(widths) {
            match width {
                1 => all.push(*value),
                n => all.extend((0..u32::from(*n)).map(|lane| ir.extract(*value, lane))),
            }
        }
        let picked = lanes.iter().map(|lane| all[usize::from(*lane)]);
        if ty.lanes == 1 {
            return picked.fold(all[0], |_, one| one);
        }
        let none = ir.poison(self.ops.ty(Kind::of(ty.elem), u32::from(ty.lanes)));
        picked.zip(0..).fold(none, |out, (value, lane)| ir.insert(out, value, lane))
    }

    /// Whether LLVM may never end where lanes of a vector that are picked like that are doubled: 22.1 takes bytes of 64 lanes
    /// of which some are picked again apart and puts them together again for ever (llvm-project 224266).
    fn cycles(&self, lanes: &[u16], ty: Ty) -> bool {
        let target = self.cx.target;
        let bytes = lanes.len() == 64 && matches!(ty.elem, Elem::Scalar(DType::I8 | DType::U8));
        let again = lanes.iter().enumerate().any(|(n, lane)| lanes[..n].contains(lane));
        target.arch == Arch::X86_64 && target.has("avx512bw") && bytes && again
    }

    // Memory.

    /// How a value lies in memory: a `bool` is a byte.
    pub(super) fn memory_type(&self, ty: Ty) -> Type<'c> {
        let lanes = u32::from(ty.lanes);
        match Kind::of(ty.elem) {
            Kind::Bool => self.cx.ir.int(8).times(lanes),
            kind @ (Kind::Int { .. } | Kind::Half { .. } | Kind::Float { .. }) => self.ops.ty(kind, lanes),
        }
    }

    /// The one index of an access; flat tir has no other.
    fn flat<'i>(&self, buf: BufId, index: &'i [ExprId]) -> Result<Option<&'i ExprId>> {
        match index {
            [] => Ok(None),
            [one] => Ok(Some(one)),
            [..] => {
                let name = &self.prim.buffers[buf.0 as usize].name;
                Err(format!("`{name}` is accessed with {} indices", index.len()))
            }
        }
    }

    /// An index of any integer type as the 64 bits of an index.
    pub(super) fn as_index(&mut self, id: ExprId) -> Result<Value<'c>> {
        let value = self.expr(id)?;
        if self.is_index(id) {
            return Ok(value);
        }
        Ok(self.ops.cast(self.kind(id), Kind::of(Elem::Index), value))
    }

    fn load(&mut self, buf: BufId, index: &[ExprId], ty: Ty) -> Result<Value<'c>> {
        let ir = self.cx.ir;
        let memory = self.memory_type(ty);
        let base = self.base(buf)?;
        let align = self.prim.buffers[buf.0 as usize].dtype.align() as u32;
        let Some(index) = self.flat(buf, index)? else {
            let loaded = ir.load(memory, base, align);
            return Ok(self.loaded(ty, loaded));
        };
        if ty.lanes == 1 || self.contiguous(*index).is_some() {
            let at = match self.contiguous(*index) {
                Some(first) => self.as_index(first)?,
                None => self.as_index(*index)?,
            };
            if ty.lanes > 1 && self.summed.contains(&buf) {
                return Ok(self.gathered(memory, base, at, align));
            }
            let place = ir.element(memory.lane(), base, at);
            let align = self.alignment(buf, self.contiguous(*index).unwrap_or(*index));
            let piece = pieces::PIECE / self.prim.buffers[buf.0 as usize].dtype.size_bytes() as u32;
            let in_pieces = self.in_pieces.contains(&buf) && memory.lanes().is_power_of_two();
            let loaded = match in_pieces && memory.lanes() > piece {
                true => ir.load_in_pieces(memory, place, align, piece),
                false => ir.load(memory, place, align),
            };
            return Ok(self.loaded(ty, loaded));
        }
        if let Some((first, by)) = strided(self.prim, *index) {
            let first = self.as_index(first)?;
            return Ok(
                self.picked(ty, first, by, &mut |at| ir.load(memory, ir.element(memory.lane(), base, at), align))
            );
        }
        if let Some(found) = self.of_table(buf, *index, base)? {
            return Ok(self.loaded(ty, found));
        }
        let places = self.places(*index, base, memory)?;
        let loaded = places.into_iter().map(|place| ir.load(memory.lane(), place, align));
        let all = loaded.zip(0..).fold(ir.poison(memory), |all, (element, lane)| ir.insert(all, element, lane));
        Ok(self.loaded(ty, all))
    }

    /// Where the elements of a vector lie: at one place and so far behind it each where they are evenly apart, as
    /// addresses have room for such distances, and a vector of numbers would be taken apart for them.
    fn places(&mut self, index: ExprId, base: Value<'c>, memory: Type<'c>) -> Result<Vec<Value<'c>>> {
        let (ir, lanes) = (self.cx.ir, memory.lanes());
        let (first, step) = match self.node(index) {
            Expr::Ramp(first, step, _) => (*first, *step),
            _ => {
                let at = self.as_index(index)?;
                return Ok((0..lanes).map(|lane| ir.element(memory.lane(), base, ir.extract(at, lane))).collect());
            }
        };
        let literal = self.prim.literal(step);
        let (first, step) = (self.as_index(first)?, self.as_index(step)?);
        let base = ir.element(memory.lane(), base, first);
        let apart = |lane: u32| match literal {
            Some(by) => ir.const_int(first.ty(), by.wrapping_mul(i64::from(lane))),
            None => ir.mul(step, ir.const_int(first.ty(), i64::from(lane))),
        };
        Ok((0..lanes).map(|lane| ir.element(memory.lane(), base, apart(lane))).collect())
    }

    /// Every so manieth element, out of vectors that together hold all from the first to the last one.
    fn picked(&self, ty: Ty, first: Value<'c>, by: i64, load: &mut dyn FnMut(Value<'c>) -> Value<'c>) -> Value<'c> {
        let (ir, lanes) = (self.cx.ir, i64::from(ty.lanes));
        // The last vector ends with the last element, behind which there may be no memory.
        let begins: Vec<i64> = (0..by).map(|n| if n + 1 < by { n * lanes } else { (lanes - 1) * (by - 1) }).collect();
        let at = |begin: &i64| ir.add(first, ir.const_int(first.ty(), *begin));
        let vectors: Vec<Value<'c>> = begins.iter().map(|begin| load(at(begin))).collect();
        let mut all = ir.poison(self.memory_type(ty));
        for lane in 0..lanes {
            let place = lane * by;
            let vector = (place / lanes) as usize;
            let element = ir.extract(vectors[vector], (place - begins[vector]) as u32);
            all = ir.insert(all, element, lane as u32);
        }
        self.loaded(ty, all)
    }

    fn loaded(&self, ty: Ty, value: Value<'c>) -> Value<'c> {
        if Kind::of(ty.elem) == Kind::Bool { self.byte_to_bool(value) } else { value }
    }

    fn contiguous(&self, index: ExprId) -> Option<ExprId> {
        contiguous(self.prim, index)
    }

    /// Writes a value to an element, or to as many as it has lanes.
    pub(super) fn write_element(&mut self, buf: BufId, index: &[ExprId], value: Value<'c>, ty: Ty) -> Result<()> {
        let ir = self.cx.ir;
        let memory = self.memory_type(ty);
        let base = self.base(buf)?;
        let align = self.prim.buffers[buf.0 as usize].dtype.align() as u32;
        let value = if Kind::of(ty.elem) == Kind::Bool { ir.resize(false, value, memory) } else { value };
        let Some(index) = self.flat(buf, index)? else {
            ir.store(value, base, align);
            return Ok(());
        };
        if ty.lanes == 1 || self.contiguous(*index).is_some() {
            let at = match self.contiguous(*index) {
                Some(first) => self.as_index(first)?,
                None => self.as_index(*index)?,
            };
            let place = ir.element(memory.lane(), base, at);
            if ty.lanes > 1 && self.streamed.of.contains(&buf) {
                self.ask_for_page(buf, place);
                ir.stream(value, place, self.streamed.align);
            } else {
                let first = self.contiguous(*index).unwrap_or(*index);
                ir.store(value, place, self.alignment(buf, first));
            }
            return Ok(());
        }
        for (lane, place) in self.places(*index, base, memory)?.into_iter().enumerate() {
            ir.store(ir.extract(value, lane as u32), place, align);
        }
        Ok(())
    }

    /// Asks, once in a turn, for the first line of a page that stores past the caches come to soon. The line is of no use,
    /// but where its page lies is found out meanwhile: such stores wait for nothing else.
    fn ask_for_page(&mut self, buf: BufId, place: Value<'c>) {
        if self.streamed.asks && self.streamed.asked.insert(buf) {
            let word = self.cx.ir.int(self.cx.target.pointer_bits);
            self.cx.ir.prefetch_multiple(place, word, streams::AHEAD, streams::PAGE);
        }
    }

    /// The same for what the elements at these places are made of, where nothing else reads it, and where so little is
    /// computed that a core waits for nothing else.
    pub(super) fn ask_for_operands(&mut self, buf: BufId, index: &[ExprId], value: ExprId) -> Result<()> {
        let all = self.prim.reachable([value]);
        if !self.streamed.asks || !self.streamed.of.contains(&buf) || !streams::is_little(self.prim, &all) {
            return Ok(());
        }
        let word = self.cx.ir.int(self.cx.target.pointer_bits);
        for id in all {
            let Expr::Load { buf: from, index: at, .. } = self.node(id) else { continue };
            let (&from, [at]) = (from, &at[..]) else { continue };
            let Some(first) = self.contiguous(*at).filter(|_| [*at] == *index) else { continue };
            if self.streamed.from.contains(&from) && self.streamed.asked.insert(from) {
                let memory = self.memory_type(self.prim.exprs.ty(id)).lane();
                let (base, first) = (self.base(from)?, self.as_index(first)?);
                let place = self.cx.ir.element(memory, base, first);
                self.cx.ir.prefetch_multiple(place, word, streams::AHEAD, streams::PAGE);
            }
        }
        Ok(())
    }

    // Reductions.

    /// `value` as `buf[index] op new`: what a reduction stores.
    pub(super) fn accumulated(
        &self,
        buf: BufId,
        index: &[ExprId],
        value: ExprId,
    ) -> Option<(BinaryOp, ExprId, ExprId)> {
        let is_old = |id: ExprId| match self.node(id) {
            Expr::Load { buf: from, index: at, .. } => *from == buf && at == index,
            _ => false,
        };
        match self.node(value) {
            Expr::Binary(op @ (BinaryOp::Add | BinaryOp::Mul), a, b) => {
                if is_old(*a) {
                    Some((*op, *a, *b))
                } else if is_old(*b) {
                    Some((*op, *b, *a))
                } else {
                    None
                }
            }
            _ => None,
        }
    }

    /// The step of a reduction, whose order is free.
    pub(super) fn accumulate(&mut self, op: BinaryOp, old: ExprId, new: ExprId) -> Result<Value<'c>> {
        if op == BinaryOp::Add && self.is_dot(new) {
            return self.dot(new, Some(old));
        }
        let (x, y) = (self.expr(old)?, self.expr(new)?);
        let done = self.ops.binary(op, self.kind(old), true, x, y);
        done.map_err(|error| unexpanded(&error.0))
    }
}

fn unexpanded(what: &str) -> String {
    format!("{what} was not written out before code generation")
}

/// Where a vector begins whose elements are so few apart that it is faster to load what is between them, too.
fn strided(prim: &PrimFunc, index: ExprId) -> Option<(ExprId, i64)> {
    const MOST: i64 = 4;
    match prim.exprs.get(index) {
        Expr::Ramp(base, stride, lanes) => {
            // As many vectors as elements are apart hold all, if none of these has fewer.
            let near = |by: &i64| (2..=MOST).contains(by) && i64::from(*lanes) >= *by;
            prim.literal(*stride).filter(near).map(|by| (*base, by))
        }
        _ => None,
    }
}

/// Where a vector of neighbours begins.
pub(super) fn contiguous(prim: &PrimFunc, index: ExprId) -> Option<ExprId> {
    match prim.exprs.get(index) {
        Expr::Ramp(base, stride, _) if prim.literal(*stride) == Some(1) => Some(*base),
        _ => None,
    }
}
