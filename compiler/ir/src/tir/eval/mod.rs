//! The reference interpreter of tir: what a prim-func does, on every phase.
//!
//! Integers are exact; floats carry how far a conforming implementation may be from them ([`crate::eval::Bounded`]).
//! Of phase [`Phase::Target`](super::Phase::Target) the values count and the errors do not: expanded math takes floats
//! apart into bits, of which no error is known. Nothing is believed: every index, every read of what was not written
//! and every write to an input is checked here, which is how the prover and the memory plan are tested.

mod copies;
mod expr;
mod few;
mod forms;
mod frame;
mod groups;
mod memory;
mod race;
mod tensors;
#[cfg(test)]
mod tests;
mod threads;
mod values;
mod warpgroups;
mod warps;

use std::collections::BTreeMap;

use super::{Param, PrimFunc};
use crate::eval::Bounded;
use crate::{ConstId, Module};
use copies::Arrival;
use frame::Frame;
use memory::{Memory, View};
use race::{Races, Table};
use tensors::Mbarriers;
use warpgroups::Products;

pub use values::eval_values;

/// An argument, as the parameter at its place asks for.
#[derive(Clone, PartialEq, Debug)]
pub enum Arg {
    /// The elements of a buffer, `None` where nothing was written. A strided one has its gaps too.
    Buffer(Vec<Option<Bounded>>),
    /// A scalar or an index.
    Value(Bounded),
    /// A workspace of that many bytes.
    Workspace(usize),
}

/// Runs a function outside the module: its symbol, and its arguments in order. Elements of results hold nothing and
/// must be given; what else is a buffer may be changed.
pub type CallExtern<'c> = dyn Fn(&str, &mut [Arg]) -> Result<(), String> + 'c;

/// Runs `func` of `module`; buffers in `args` are left as it leaves them. A call of a function outside the module is
/// an error.
pub fn eval(module: &Module, func: &PrimFunc, args: &mut [Arg]) -> Result<(), String> {
    eval_with(module, func, args, &|name, _| Err(format!("`{name}` stands outside the module")))
}

/// [`eval`] with a way to run functions outside the module.
pub fn eval_with(module: &Module, func: &PrimFunc, args: &mut [Arg], external: &CallExtern<'_>) -> Result<(), String> {
    let mut machine = Machine {
        module,
        external,
        memories: Vec::new(),
        constants: BTreeMap::new(),
        left: STEPS,
        depth: 0,
        races: Races::default(),
        in_flight: Table::default(),
        mbarriers: Mbarriers::default(),
        barriers: 0,
        products: Products::default(),
    };
    if args.len() != func.params.len() {
        return Err(format!("`{}` takes {} arguments, found {}", func.name, func.params.len(), args.len()));
    }
    let mut given = Vec::new();
    for (param, arg) in func.params.iter().zip(args.iter_mut()) {
        given.push(match (param, arg) {
            (Param::Buffer(..), Arg::Buffer(cells)) => Given::View(machine.add(Memory::of(std::mem::take(cells)))),
            (Param::Value(_), Arg::Value(value)) => Given::Value(*value),
            (Param::Workspace, Arg::Workspace(bytes)) => Given::View(machine.add(Memory::workspace(*bytes))),
            (param, _) => return Err(format!("`{}`: an argument of another kind for {param:?}", func.name)),
        });
    }
    machine.call(func, &given)?;
    for (arg, given) in args.iter_mut().zip(given) {
        if let (Arg::Buffer(cells), Given::View(view)) = (arg, given) {
            *cells = machine.memories[view.memory].values();
        }
    }
    Ok(())
}

/// Statements that one evaluation may run: a loop that does not end is an error.
const STEPS: u64 = 200_000_000;
/// Calls inside calls.
const DEPTH: u32 = 32;

/// What a call passes.
#[derive(Clone, Copy)]
enum Given {
    View(View),
    Value(Bounded),
}

/// What lives as long as one evaluation.
struct Machine<'m> {
    module: &'m Module,
    external: &'m CallExtern<'m>,
    memories: Vec<Memory>,
    constants: BTreeMap<ConstId, View>,
    left: u64,
    depth: u32,
    races: Races<'m>,
    /// Cells that copies are on their way to, and what these wait for.
    in_flight: Table<(usize, i64), Arrival>,
    mbarriers: Mbarriers,
    /// Barriers of blocks that were passed.
    barriers: u64,
    products: Products,
}

impl<'m> Machine<'m> {
    fn add(&mut self, memory: Memory) -> View {
        self.memories.push(memory);
        View { memory: self.memories.len() - 1, base: 0, unit: 1 }
    }

    fn call(&mut self, func: &'m PrimFunc, given: &[Given]) -> Result<(), String> {
        if self.depth >= DEPTH {
            return Err(format!("`{}`: calls nested deeper than {DEPTH}", func.name));
        }
        self.depth += 1;
        let memories = self.memories.len();
        let result = Frame::enter(self, func, given).and_then(|mut frame| frame.run());
        self.depth -= 1;
        // Constants were added behind the callee's memories; they are decoded again where another call needs them.
        self.constants.retain(|_, view| view.memory < memories);
        // Another call's memories take the same numbers.
        (memories..self.memories.len()).for_each(|memory| self.races.forget(memory));
        self.in_flight.retain(|(memory, _), _| *memory < memories);
        self.memories.truncate(memories);
        result.map_err(|e| if e.starts_with('`') { e } else { format!("`{}`: {e}", func.name) })
    }

    fn constant(&mut self, id: ConstId) -> Result<View, String> {
        if let Some(view) = self.constants.get(&id) {
            return Ok(*view);
        }
        let memory = Memory::constant(self.module.constant(id))?;
        let view = self.add(memory);
        self.constants.insert(id, view);
        Ok(view)
    }
}
