//! Where each buffer between stages lives.

use std::collections::{BTreeMap, BTreeSet};

use tenfold_ir::arith::IntExpr;
use tenfold_ir::tir::{BufId, BufUse, Param, VarId};

use super::Fusion;
use super::classes::only;
use super::tree::{Step, common};
use crate::fuse::access::{Access, Axis, axes};
use crate::fuse::fuse_loops::Room;

/// Where a buffer lives.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Place {
    /// In registers or on the stack, inside the loops given, with the axes that are kept.
    Local {
        /// The loops around it.
        within: Vec<Step>,
        /// Which axes it still has.
        kept: Vec<bool>,
    },
    /// In the result's memory.
    Result(BufId, Vec<From>),
    /// In memory of its own.
    Memory,
    /// Nothing uses it.
    Nowhere,
}

/// What an axis of the result is indexed by: an axis of the buffer, if any, plus a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct From {
    /// Axis of the buffer.
    pub axis: Option<usize>,
    /// Added to it.
    pub offset: i64,
}

impl Fusion {
    /// Decides for every buffer: scalars first, then what fits into the result, then what fits on the stack. Of a
    /// result that is written past the caches nothing is read again, so there the stack comes first.
    pub(super) fn place(&mut self, paths: &[Vec<Step>], room: Room) {
        let allocs = self.staged.allocs.clone();
        for buf in &allocs {
            let place = self.shrunk(*buf, paths, 0);
            self.places.insert(*buf, place);
        }
        let streamed = self.streamed(room);
        let mut left = streamed.unwrap_or(room.stack);
        if streamed.is_some() {
            // The least first: of a row that does not fit beside them, what is left of its sums still does.
            let mut least_first = allocs.clone();
            least_first.sort_by_key(|buf| self.local_bytes(*buf, &self.shrunk(*buf, paths, i64::MAX)));
            self.use_stack(&least_first, paths, &mut left);
        }
        self.use_result(paths);
        self.use_stack(&allocs, paths, &mut left);
    }

    fn use_stack(&mut self, allocs: &[BufId], paths: &[Vec<Step>], left: &mut i64) {
        for buf in allocs {
            if self.places[buf] == Place::Memory {
                let place = self.shrunk(*buf, paths, *left);
                *left -= self.local_bytes(*buf, &place);
                self.places.insert(*buf, place);
            }
        }
    }

    /// The room on the stack where the result is written past the caches.
    fn streamed(&self, room: Room) -> Option<i64> {
        let ((least, stack), out) = (room.past_caches?, self.result()?);
        self.staged.b.func().buffers[out.0 as usize].bytes().filter(|bytes| *bytes >= least).map(|_| stack)
    }

    fn result(&self) -> Option<BufId> {
        self.staged.b.func().params.iter().find_map(|p| match p {
            Param::Buffer(buf, BufUse::Out) => Some(*buf),
            Param::Buffer(..) | Param::Value(_) | Param::Workspace => None,
        })
    }

    fn users(&self, buf: BufId) -> Vec<usize> {
        (0..self.accesses.len()).filter(|s| self.accesses[*s].iter().any(|a| a.buf == buf)).collect()
    }

    fn of(&self, stage: usize, buf: BufId) -> Vec<&Access> {
        self.accesses[stage].iter().filter(|a| a.buf == buf).collect()
    }

    /// The buffer without the axes along which the loops around all of its users run, if `most` bytes hold it.
    fn shrunk(&self, buf: BufId, paths: &[Vec<Step>], most: i64) -> Place {
        let users = self.users(buf);
        if users.is_empty() {
            return Place::Nowhere;
        }
        let within = common(paths, &users);
        let classes: BTreeSet<VarId> = within.iter().map(|(_, class)| *class).collect();
        let rank = self.staged.b.buf(buf).shape.len();
        let kept = (0..rank).map(|axis| !self.is_fixed(buf, &users, axis, &classes)).collect();
        let place = Place::Local { within, kept };
        match self.local_size(buf, &place) {
            Some((1, _)) => place,
            Some((n, size)) if n * size <= most => place,
            Some(_) | None => Place::Memory,
        }
    }

    /// Whether one turn of the loops of these classes touches one index of an axis.
    fn is_fixed(&self, buf: BufId, users: &[usize], axis: usize, classes: &BTreeSet<VarId>) -> bool {
        let func = self.staged.b.func();
        let form = |s: &usize| match only(func, &self.of(*s, buf), axis) {
            Some(Axis::Iter(v, k)) => {
                let class = self.classes.find(v);
                classes.contains(&class).then_some((Some(class), k))
            }
            Some(Axis::Fixed(c)) => Some((None, c)),
            Some(Axis::Other) | None => None,
        };
        let first = form(&users[0]);
        first.is_some() && users.iter().all(|s| form(s) == first)
    }

    /// Number of elements and size of each.
    fn local_size(&self, buf: BufId, place: &Place) -> Option<(i64, i64)> {
        let Place::Local { kept, .. } = place else { return None };
        let data = self.staged.b.buf(buf);
        let mut dims = data.shape.iter().zip(kept).filter(|(_, k)| **k);
        let n = dims.try_fold(1_i64, |n, (d, _)| n.checked_mul(d.as_const()?))?;
        Some((n, data.dtype.size_bytes() as i64))
    }

    fn local_bytes(&self, buf: BufId, place: &Place) -> i64 {
        self.local_size(buf, place).map_or(0, |(n, size)| n * size)
    }

    /// Puts buffers into the result, from the last one on, while the stage that reads one is the first to write where
    /// it goes, and does so element by element.
    fn use_result(&mut self, paths: &[Vec<Step>]) {
        let Some(out) = self.result() else { return };
        let rank = self.staged.b.buf(out).shape.len();
        let own = (0..rank).map(|axis| From { axis: Some(axis), offset: 0 }).collect::<Vec<_>>();
        let mut inside: BTreeMap<BufId, Vec<From>> = BTreeMap::from([(out, own)]);
        while let Some((buf, map)) = self.next_into(out, &inside, paths) {
            self.places.insert(buf, Place::Result(out, map.clone()));
            inside.insert(buf, map);
        }
    }

    fn next_into(
        &self,
        out: BufId,
        inside: &BTreeMap<BufId, Vec<From>>,
        paths: &[Vec<Step>],
    ) -> Option<(BufId, Vec<From>)> {
        let writer = inside.keys().flat_map(|b| self.users(*b)).min()?;
        let memory = self.places.iter().filter(|(_, place)| **place == Place::Memory).map(|(buf, _)| *buf);
        for buf in memory {
            let last = self.users(buf).last().copied();
            if last != Some(writer) || self.staged.b.buf(buf).dtype != self.staged.b.buf(out).dtype {
                continue;
            }
            if let Some(map) = self.own_element(buf, writer, inside)
                && self.stays_apart(buf, &map, inside, paths)
            {
                return Some((buf, map));
            }
        }
        None
    }

    /// How the stage's one store indexes the result where it reads the same element of `buf`.
    fn own_element(&self, buf: BufId, writer: usize, inside: &BTreeMap<BufId, Vec<From>>) -> Option<Vec<From>> {
        let func = self.staged.b.func();
        let stage = &self.staged.stages[writer];
        let tenfold_ir::tir::Stmt::Store { buf: target, index, .. } = &stage.body else { return None };
        if super::prepare::reduces(stage) {
            return None;
        }
        let rank = self.staged.b.buf(buf).shape.len();
        let reads = self.of(writer, buf);
        let read: Vec<Axis> = (0..rank).map(|axis| only(func, &reads, axis)).collect::<Option<_>>()?;
        let stored = axes(func, index);
        let mut direct = Vec::new();
        for axis in &stored {
            direct.push(match axis {
                Axis::Iter(v, k) => {
                    let from = read.iter().position(|r| *r == Axis::Iter(*v, 0))?;
                    From { axis: Some(from), offset: *k }
                }
                Axis::Fixed(c) => From { axis: None, offset: *c },
                Axis::Other => return None,
            });
        }
        self.covers(buf, &read, &direct).then_some(())?;
        let through = inside.get(target)?;
        let then = |from: &From| match from.axis {
            Some(axis) => From { axis: direct[axis].axis, offset: from.offset + direct[axis].offset },
            None => *from,
        };
        Some(through.iter().map(then).collect())
    }

    /// Whether every element of `buf` goes to an element of its own.
    fn covers(&self, buf: BufId, read: &[Axis], direct: &[From]) -> bool {
        let data = self.staged.b.buf(buf);
        let used: Vec<usize> = direct.iter().filter_map(|f| f.axis).collect();
        let once = used.iter().collect::<BTreeSet<_>>().len() == used.len();
        let whole = |axis: usize| match read[axis] {
            Axis::Iter(v, 0) => used.contains(&axis) && self.extent(v).as_ref() == Some(&data.shape[axis]),
            Axis::Fixed(0) => data.shape[axis].as_const() == Some(1),
            Axis::Iter(..) | Axis::Fixed(_) | Axis::Other => false,
        };
        once && (0..read.len()).all(whole)
    }

    fn extent(&self, var: VarId) -> Option<IntExpr> {
        let iter = self.staged.stages.iter().flat_map(|s| &s.iters).find(|i| i.var == var)?;
        let mut viewer = tenfold_ir::tir::Viewer::new(self.staged.b.func());
        Some(viewer.int(iter.extent))
    }

    /// Whether no turn of a shared loop touches what another turn of it has put into the result.
    fn stays_apart(&self, buf: BufId, map: &[From], inside: &BTreeMap<BufId, Vec<From>>, paths: &[Vec<Step>]) -> bool {
        let with: BTreeMap<BufId, Vec<From>> =
            inside.iter().map(|(b, m)| (*b, m.clone())).chain([(buf, map.to_vec())]).collect();
        let users: BTreeSet<usize> = with.keys().flat_map(|b| self.users(*b)).collect();
        users.iter().all(|s| {
            let later = users.iter().filter(|t| *t > s);
            later.into_iter().all(|t| {
                let shared = common(paths, &[*s, *t]);
                shared.iter().all(|(_, class)| self.alike(*s, *t, *class, &with, map.len()))
            })
        })
    }

    /// Whether two stages index an axis of the result by the variables of a class alike.
    fn alike(&self, s: usize, t: usize, class: VarId, with: &BTreeMap<BufId, Vec<From>>, rank: usize) -> bool {
        (0..rank).any(|axis| {
            let a = self.result_axis(s, axis, with);
            a.is_some_and(|(c, _)| c == class) && a == self.result_axis(t, axis, with)
        })
    }

    /// The class and offset by which all accesses of a stage index an axis of the result.
    fn result_axis(&self, stage: usize, axis: usize, with: &BTreeMap<BufId, Vec<From>>) -> Option<(VarId, i64)> {
        let func = self.staged.b.func();
        let mut forms = self.accesses[stage].iter().filter_map(|a| Some((a, with.get(&a.buf)?))).map(|(a, map)| {
            let from = map[axis];
            match axes(func, &a.index)[from.axis?] {
                Axis::Iter(v, k) => Some((self.classes.find(v), k + from.offset)),
                Axis::Fixed(_) | Axis::Other => None,
            }
        });
        let first = forms.next()??;
        forms.all(|f| f == Some(first)).then_some(first)
    }
}
