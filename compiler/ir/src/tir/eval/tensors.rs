//! Copies of boxes, which go on by themselves: nobody touches what they write before waiting for the phase of an `mbarrier`
//! in which they were begun.

use std::collections::BTreeMap;

use super::copies::Arrival;
use super::frame::Frame;
use super::memory::{Cell, View};
use super::race::{Before, Waited};
use crate::Scalar;
use crate::eval::Bounded;
use crate::tir::tensor::{LINE, of_line};
use crate::tir::{Access, BufId, Expr, ExprId, Mbarrier, TensorCopy};

/// A cell of a memory.
type Place = (usize, i64);

/// Where a store stores.
type Target<'m> = (BufId, &'m [ExprId], Access);

/// An `mbarrier`.
struct Phases {
    /// Arrivals that end a phase.
    count: i64,
    /// Those that the phase which goes on still needs.
    left: i64,
    /// Bytes that were announced in it and have not come.
    bytes: i64,
    /// Phases that have ended.
    ended: u64,
    /// What came before arrivals of the phase that goes on, and of those that have ended.
    told: Vec<Before>,
    before: Vec<Before>,
}

impl Phases {
    /// Ends the phase that goes on, if it is over.
    fn settle(&mut self) {
        if self.left == 0 && self.bytes == 0 {
            (self.left, self.ended) = (self.count, self.ended + 1);
            self.told.drain(..).for_each(|told| told.add_to(&mut self.before));
        }
    }
}

/// All of them that were made ready.
#[derive(Default)]
pub(super) struct Mbarriers {
    known: BTreeMap<Place, Phases>,
    /// How many phases of each had ended for somebody who waited.
    waited: BTreeMap<Place, u64>,
}

impl<'m> Frame<'_, 'm> {
    /// Does something with an `mbarrier`. Making it ready is a write of it, all else a read: who comes first does not matter.
    pub(super) fn mbarrier(
        &mut self,
        f: Mbarrier,
        args: &'m [ExprId],
        (buf, index, access): Target<'m>,
    ) -> Result<(), String> {
        let [n] = args else { return Err(format!("`{}` of {} operands", f.name(), args.len())) };
        let n = self.int_of(*n)?;
        let place = self.mbarrier_at(buf, index, access, f == Mbarrier::Init)?;
        let name = &self.func.buffers[buf.0 as usize].name;
        if f == Mbarrier::Init {
            if n < 1 {
                return Err(format!("`mbarrier_init` of {n} arrivals"));
            }
            let (told, before) = (Vec::new(), Vec::new());
            let phases = Phases { count: n, left: n, bytes: 0, ended: 0, told, before };
            let before = self.machine.mbarriers.known.insert(place, phases);
            return before.map_or(Ok(()), |_| Err(format!("`mbarrier_init` of `{name}`, which is ready")));
        }
        let phases = self.machine.mbarriers.known.get_mut(&place);
        let phases = phases.ok_or_else(|| format!("`{}` of `{name}`, which is not made ready", f.name()))?;
        match f {
            Mbarrier::Expect => {
                if phases.left == 0 {
                    return Err(format!("one arrival at `{name}` more than its phase takes"));
                }
                (phases.left, phases.bytes) = (phases.left - 1, phases.bytes + n);
                phases.told.push(self.machine.races.arrive());
                phases.settle();
            }
            Mbarrier::Wait => {
                if phases.ended.wrapping_sub(1) % 2 != (n % 2) as u64 {
                    let (left, bytes) = (phases.left, phases.bytes);
                    let text = format!("`{name}` is waited for, whose phase lacks {left} arrivals and {bytes} bytes");
                    return Err(text);
                }
                let ended = phases.ended;
                self.machine.races.wait(&mut self.state.before, &phases.before);
                self.machine.mbarriers.waited.insert(place, ended);
                self.state.waited.insert(place, ended);
            }
            Mbarrier::Init => {}
        }
        Ok(())
    }

    fn mbarrier_at(&mut self, buf: BufId, index: &'m [ExprId], access: Access, write: bool) -> Result<Place, String> {
        let (at, _) = self.index(index, 0)?;
        let (view, cell) = self.cell(buf, &at, access)?;
        self.touch(buf, &at, (view, cell), write)?;
        Ok((view.memory, cell))
    }

    /// Begins the copy of a box.
    pub(super) fn copy_tensor(&mut self, (buf, index, access): Target<'m>, value: ExprId) -> Result<(), String> {
        let copy = TensorCopy::of(self.func, value).ok_or("a box whose extents are no numbers")?;
        let data = &self.func.buffers[buf.0 as usize];
        let size = data.dtype.size_bytes() as i64;
        let Expr::Load { buf: full, index: n, access: how } = self.func.exprs.get(copy.tells) else {
            return Err("a copy that tells nobody".into());
        };
        let of = self.mbarrier_at(*full, n, *how, false)?;
        let (to, _) = self.index(index, 0)?;
        let (view, cell) = self.cell(buf, &to, access)?;
        if cell / view.unit * size % (8 * LINE) != 0 {
            return Err(format!("a box to `{}`{to:?}, which begins at no multiple of 1,024 bytes", data.name));
        }
        let (first, phase) = (to.last().copied().unwrap_or(0), self.phase_of(of, copy.elements() * size)?);
        for (n, value) in (0..).zip(self.box_elements(&copy, size)?) {
            let inner = LINE / size;
            let place = of_line(n / inner, n % inner, size);
            let (at, cell) = (first + place, cell + place * view.unit);
            self.touch(buf, &[at], (view, cell), true)?;
            self.is_settled(buf, &[at], (view, cell), true)?;
            // Who touches it from here on has waited.
            self.machine.races.order(view.memory, cell);
            self.machine.memories[view.memory].set(cell, Cell { value, sum: None });
            self.machine.in_flight.insert((view.memory, cell), Arrival::Phase(of, phase));
        }
        Ok(())
    }

    /// The phase in which so many bytes come.
    fn phase_of(&mut self, of: Place, bytes: i64) -> Result<u64, String> {
        let phases = self.machine.mbarriers.known.get_mut(&of).ok_or("a copy tells an `mbarrier` that is not ready")?;
        let phase = phases.ended;
        phases.bytes -= bytes;
        phases.settle();
        Ok(phase)
    }

    /// The elements of a box, the innermost axis first.
    fn box_elements(&mut self, copy: &TensorCopy, size: i64) -> Result<Vec<Bounded>, String> {
        let Expr::Load { buf, index, access } = self.func.exprs.get(copy.first) else {
            return Err("a box of what is not in memory".into());
        };
        let (at, _) = self.index(index, 0)?;
        let (view, cell) = self.cell(*buf, &at, *access)?;
        let data = &self.func.buffers[buf.0 as usize];
        if cell / view.unit * size % 16 != 0 {
            return Err(format!("a tensor that begins at no multiple of 16 bytes of `{}`", data.name));
        }
        let begins = copy.axes.iter().map(|axis| self.int_of(axis.at)).collect::<Result<Vec<_>, _>>()?;
        let mut all = Vec::new();
        for n in 0..copy.elements() {
            let (mut rest, mut far, mut inside) = (n, 0, true);
            for (axis, begin) in copy.axes.iter().zip(&begins) {
                let place = begin + rest % axis.width;
                (rest, far) = (rest / axis.width, far + place * axis.stride);
                inside &= (0..axis.extent).contains(&place);
            }
            all.push(match inside {
                true => self.far_element(*buf, (view, cell), far)?,
                false => Bounded::exact(Scalar::zero(data.dtype)),
            });
        }
        Ok(all)
    }

    /// An element so many behind the first one.
    fn far_element(&mut self, buf: BufId, (view, first): (View, i64), far: i64) -> Result<Bounded, String> {
        let cell = first + far * view.unit;
        if !(0..self.machine.memories[view.memory].len()).contains(&cell) {
            return Err(format!("a box reaches beyond `{}`", self.func.buffers[buf.0 as usize].name));
        }
        self.element(buf, &[far], (view, cell))
    }

    /// That somebody has waited for every copy: none may be on its way when its block is over.
    pub(super) fn all_landed(&mut self) -> Result<(), String> {
        let waited = &self.machine.mbarriers.waited;
        let lost = self.machine.in_flight.values().any(|arrival| match arrival {
            Arrival::Phase(of, phase) => waited.get(of).is_none_or(|ended| ended <= phase),
            Arrival::Barrier(_) => false,
        });
        self.machine.in_flight.retain(|_, arrival| matches!(arrival, Arrival::Barrier(_)));
        self.machine.mbarriers = Mbarriers::default();
        self.state.waited.clear();
        self.state.before = Waited::default();
        if lost { Err("a copy of a box that nobody waits for".into()) } else { Ok(()) }
    }
}
