//! Calls of functions outside the module, which the caller of the interpreter runs.

use std::rc::Rc;

use super::{Arg, BufId, BufUse, CallArg, Cell, Frame, Given, Param, Place, PrimFunc};
use crate::eval::Bounded;

impl<'m> Frame<'_, 'm> {
    /// Hands the elements over and takes back what was written.
    pub(super) fn call_outside(
        &mut self,
        callee: &'m PrimFunc,
        args: &'m [CallArg],
        given: &[Given],
    ) -> Result<(), String> {
        let mut places = Vec::new();
        let mut passed = Vec::new();
        for ((param, arg), given) in callee.params.iter().zip(args).zip(given) {
            let (one, place) = match (param, arg, given) {
                (Param::Value(_), _, Given::Value(value)) => (Arg::Value(*value), None),
                (Param::Buffer(_, usage), CallArg::Buffer(buf), _) => {
                    let place = self.place(*buf)?;
                    let cells = self.elements_of(*buf, &place, *usage)?;
                    (Arg::Buffer(cells), Some((*usage, place)))
                }
                _ => return Err(format!("`{}`: an argument of another kind for {param:?}", callee.name)),
            };
            passed.push(one);
            places.push(place);
        }
        self.apart(callee, &places)?;
        (self.machine.external)(callee.link_name().unwrap_or_default(), &mut passed)?;
        for (place, arg) in places.iter().zip(passed) {
            if let (Some((BufUse::Out | BufUse::InOut, place)), Arg::Buffer(cells)) = (place, arg) {
                self.take_back(callee, place, &cells)?;
            }
        }
        Ok(())
    }

    /// A buffer's elements in order; those of a result hold nothing.
    fn elements_of(&self, buf: BufId, place: &Place, usage: BufUse) -> Result<Vec<Option<Bounded>>, String> {
        let data = &self.func.buffers[buf.0 as usize];
        if place.strides != super::row_major(&place.shape) {
            return Err(format!("`{}` has gaps, and is passed outside of the module", data.name));
        }
        let memory = &self.machine.memories[place.view.memory];
        let at = |n: i64| memory.get(place.view.base + n * place.view.unit, data.dtype);
        let cells: Vec<Option<Bounded>> = match usage {
            BufUse::Out => vec![None; place.elements() as usize],
            BufUse::In | BufUse::InOut => (0..place.elements()).map(at).collect(),
        };
        match cells.iter().position(Option::is_none) {
            Some(n) if usage != BufUse::Out => {
                Err(format!("element {n} of `{}` is read before it is written", data.name))
            }
            Some(_) | None => Ok(cells),
        }
    }

    /// Memory that is passed to be written is passed once.
    fn apart(&self, callee: &PrimFunc, places: &[Option<(BufUse, Rc<Place>)>]) -> Result<(), String> {
        let all: Vec<&(BufUse, Rc<Place>)> = places.iter().flatten().collect();
        for (n, (usage, a)) in all.iter().copied().enumerate() {
            for (other, b) in all[n + 1..].iter().copied() {
                let (x, y) = (a.cells(), b.cells());
                let meet = a.view.memory == b.view.memory && x.start < y.end && y.start < x.end;
                if meet && (*usage != BufUse::In || *other != BufUse::In) {
                    return Err(format!("`{}` is passed memory that overlaps", callee.name));
                }
            }
        }
        Ok(())
    }

    fn take_back(&mut self, callee: &PrimFunc, place: &Place, cells: &[Option<Bounded>]) -> Result<(), String> {
        if cells.len() as i64 != place.elements() {
            return Err(format!("`{}` gives {} elements, expected {}", callee.name, cells.len(), place.elements()));
        }
        for (n, cell) in cells.iter().enumerate() {
            let value = cell.ok_or_else(|| format!("`{}` does not write element {n} of a result", callee.name))?;
            let at = place.view.base + n as i64 * place.view.unit;
            self.machine.memories[place.view.memory].set(at, Cell { value, sum: None });
        }
        Ok(())
    }
}
