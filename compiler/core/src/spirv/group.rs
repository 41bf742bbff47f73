//! What the threads of a group make of a value of each: in subgroups and a word of each of these, or by halves in shared
//! memory where a device has no arithmetic over subgroups.
//!
//! Nothing hangs on how many threads a subgroup has, or on which: it tells its number, and its first thread writes what
//! all of it has made. Every thread adds up these words for itself, in one order, so all get the same bits.

use spirv::{BuiltIn, GroupOperation, Op, Scope, StorageClass};
use tenfold_abi::program::{Feature, Setting};
use tenfold_ir::op::BinaryOp;
use tenfold_ir::tir::{Group, ThreadAxis};

use super::expr::Made;
use super::kind::{F32, Kind, U32};
use super::out::{Id, Out, refs};
use super::stmt::Body;
use super::words::{Operand, named};

/// How subgroups reduce values of a kind: what these become before, and by which instruction.
#[derive(Clone, Copy)]
struct Way {
    within: Kind,
    op: Op,
}

impl Way {
    /// Of what a register of 32 bits holds; maxima and minima of floats are those of integers in the same order, since
    /// Vulkan leaves open what those of NaN are.
    fn of(f: Group, kind: Kind) -> Option<Way> {
        let way = |within, op| Some(Way { within, op });
        match (kind, f) {
            (Kind::Int { bits: 64, .. } | Kind::Float { bits: 64 } | Kind::Bool, _) => None,
            (Kind::Int { signed, .. }, f) => {
                let within = Kind::Int { signed, bits: 32 };
                way(
                    within,
                    match (f, signed) {
                        (Group::Sum, _) => Op::GroupNonUniformIAdd,
                        (Group::Prod, _) => Op::GroupNonUniformIMul,
                        (Group::Max, true) => Op::GroupNonUniformSMax,
                        (Group::Max, false) => Op::GroupNonUniformUMax,
                        (Group::Min, true) => Op::GroupNonUniformSMin,
                        (Group::Min, false) => Op::GroupNonUniformUMin,
                    },
                )
            }
            (Kind::Float { .. }, Group::Sum) => way(F32, Op::GroupNonUniformFAdd),
            (Kind::Float { .. }, Group::Prod) => way(F32, Op::GroupNonUniformFMul),
            // Each sum of halves is rounded to one.
            (Kind::Half { .. }, Group::Sum | Group::Prod) => None,
            (Kind::Float { .. } | Kind::Half { .. }, Group::Max) => way(U32, Op::GroupNonUniformUMax),
            (Kind::Float { .. } | Kind::Half { .. }, Group::Min) => way(U32, Op::GroupNonUniformUMin),
        }
    }
}

impl Body<'_> {
    /// What all threads of the group make.
    pub(super) fn group(&mut self, f: Group, kind: Kind, x: Id) -> Made {
        match Way::of(f, kind).filter(|_| self.out.optional) {
            Some(way) => self.by_subgroups(f, kind, way, x),
            None => self.by_halves(f, kind, x),
        }
    }

    fn by_subgroups(&mut self, f: Group, kind: Kind, way: Way, x: Id) -> Made {
        self.out.need(Feature::Subgroup);
        self.out.need(Feature::SubgroupArithmetic);
        let own = self.out.ordered(f, kind, x)?;
        let (ty, scope, part) = (self.out.register(way.within), self.out.word(Scope::Subgroup as u32), self.out.id());
        let operands =
            vec![Operand::Id(scope), named(GroupOperation::Reduce as u32, GroupOperation::Reduce), Operand::Id(own)];
        self.out.push(way.op, Some(ty), Some(part), operands);
        let [number, place, count] = [
            (BuiltIn::SubgroupId, "subgroup"),
            (BuiltIn::SubgroupLocalInvocationId, "lane"),
            (BuiltIn::NumSubgroups, "count"),
        ]
        .map(|(builtin, name)| self.out.input_word(builtin, name));
        let zero = self.out.word(0);
        let first = self.out.test(Op::IEqual, place, zero);
        self.wait();
        self.when(first, |body| {
            let at = body.word_of(way.within, number);
            body.out.push(Op::Store, None, None, refs(&[at, part]));
            Ok(())
        })?;
        self.wait();
        let known = self.out.setting(Setting::Subgroups, "subgroups");
        let is_known = self.out.test(Op::INotEqual, known, zero);
        let count = self.out.select(U32, is_known, known, count);
        let all = self.words(f.combiner(), way.within, count)?;
        self.out.unordered(f, kind, all)
    }

    /// What the words of so many subgroups make.
    fn words(&mut self, op: BinaryOp, kind: Kind, count: Id) -> Made {
        let (ty, word, zero, one) = (self.out.register(kind), self.out.int(32), self.out.word(0), self.out.word(1));
        let at = self.word_of(kind, zero);
        let first = self.out.op(Op::Load, ty, &[at]);
        let before = self.out.here();
        let [head, check, inside, next, merge, later, counter, all] = [0; 8].map(|_: u32| self.out.id());
        // What is computed in the loop has no id before it.
        let sum = self.out.id();
        self.out.branch(head);
        self.out.begin(head);
        self.out.push(Op::Phi, Some(word), Some(counter), refs(&[one, before, later, next]));
        self.out.push(Op::Phi, Some(ty), Some(all), refs(&[first, before, sum, next]));
        self.out.loop_merge(merge, next, true);
        self.out.branch(check);
        self.out.begin(check);
        let more = self.out.test(Op::ULessThan, counter, count);
        self.out.branch_if(more, inside, merge);
        self.out.begin(inside);
        let at = self.word_of(kind, counter);
        let other = self.out.op(Op::Load, ty, &[at]);
        let both = self.out.binary(op, kind, all, other, None)?;
        self.out.push(Op::CopyObject, Some(ty), Some(sum), refs(&[both]));
        self.out.branch(next);
        self.out.begin(next);
        self.out.push(Op::IAdd, Some(word), Some(later), refs(&[counter, one]));
        self.out.branch(head);
        self.out.begin(merge);
        Ok(all)
    }

    /// Half of the threads that are left take what the other half has.
    fn by_halves(&mut self, f: Group, kind: Kind, x: Id) -> Made {
        let (ty, word, threads) = (self.out.register(kind), self.out.int(32), self.threads);
        let me = self.thread(ThreadAxis::Thread(0));
        self.wait();
        let own = self.word_of(kind, me);
        self.out.push(Op::Store, None, None, refs(&[own, x]));
        let mut half = threads.next_power_of_two() / 2;
        while half > 0 {
            self.wait();
            let limit = self.out.word(half.min(threads - half));
            let below = self.out.test(Op::ULessThan, me, limit);
            self.when(below, |body| {
                let step = body.out.word(half);
                let other = body.out.op(Op::IAdd, word, &[me, step]);
                let other = body.word_of(kind, other);
                let (a, b) = (body.out.op(Op::Load, ty, &[own]), body.out.op(Op::Load, ty, &[other]));
                let both = body.out.binary(f.combiner(), kind, a, b, None)?;
                body.out.push(Op::Store, None, None, refs(&[own, both]));
                Ok(())
            })?;
            half /= 2;
        }
        self.wait();
        let zero = self.out.word(0);
        let first = self.word_of(kind, zero);
        Ok(self.out.op(Op::Load, ty, &[first]))
    }

    /// A word of a kind that the group shares: one for each thread, since a subgroup may have one thread alone.
    fn word_of(&mut self, kind: Kind, at: Id) -> Id {
        let element = self.out.register(kind);
        let variable = match self.met.get(&element) {
            Some(variable) => *variable,
            None => {
                let array = self.out.array(element, self.threads);
                let variable = self.out.global(StorageClass::Workgroup, array);
                self.out.name(variable, "words");
                self.shared = self.shared.saturating_add(self.threads.saturating_mul(kind.stored_bits().max(32) / 8));
                self.met.insert(element, variable);
                variable
            }
        };
        let pointer = self.out.pointer(StorageClass::Workgroup, element);
        self.out.op(Op::AccessChain, pointer, &[variable, at])
    }
}

impl Out {
    /// What subgroups reduce instead of a value; for maxima and minima of floats an integer in the same order, in which
    /// NaN stands where it is taken.
    fn ordered(&mut self, f: Group, kind: Kind, x: Id) -> Made {
        match (kind, f) {
            (Kind::Float { .. }, Group::Max | Group::Min) => {
                let bits = self.reinterpret(U32, x);
                let (word, top) = (self.int(32), self.word(1 << 31));
                let (places, nan) = (self.word(31), self.word(if f == Group::Max { u32::MAX } else { 0 }));
                let sign = self.op(Op::ShiftRightArithmetic, word, &[bits, places]);
                let flips = self.op(Op::BitwiseOr, word, &[sign, top]);
                let number = self.op(Op::BitwiseXor, word, &[bits, flips]);
                let is_nan = self.is_nan(F32, x);
                Ok(self.select(U32, is_nan, nan, number))
            }
            (Kind::Half { .. }, _) => {
                let wide = self.cast(kind, F32, x)?;
                self.ordered(f, F32, wide)
            }
            (Kind::Float { .. } | Kind::Int { .. } | Kind::Bool, _) => Ok(x),
        }
    }

    /// The value that [`Out::ordered`] has made a number of.
    fn unordered(&mut self, f: Group, kind: Kind, x: Id) -> Made {
        match (kind, f) {
            (Kind::Float { .. }, Group::Max | Group::Min) => {
                let (word, top, places) = (self.int(32), self.word(1 << 31), self.word(31));
                let positive = self.op(Op::ShiftRightArithmetic, word, &[x, places]);
                let negative = self.op(Op::Not, word, &[positive]);
                let flips = self.op(Op::BitwiseOr, word, &[negative, top]);
                let bits = self.op(Op::BitwiseXor, word, &[x, flips]);
                Ok(self.reinterpret(F32, bits))
            }
            (Kind::Half { .. }, _) => {
                let wide = self.unordered(f, F32, x)?;
                self.cast(F32, kind, wide)
            }
            (Kind::Float { .. } | Kind::Int { .. } | Kind::Bool, _) => Ok(self.wrapped(kind, x)),
        }
    }
}
