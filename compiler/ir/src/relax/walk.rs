//! Walks over a function's bindings, those inside regions included. Each is linear in the number of bindings.
//!
//! Passes use these and no loops of their own over [`Function::blocks`], which would miss what stands in regions.

use std::collections::BTreeMap;

use super::{Binding, BindingBlock, Function, Op, Region, SymKind, Type, ValueData, ValueId, binding_kind};
use crate::Loc;

/// A step of [`Function::walk`].
#[derive(Clone, Copy, Debug)]
pub enum Event<'f> {
    /// A binding: its operands are read here. Its regions follow.
    Enter(&'f Binding),
    /// A region of it begins.
    Begin(&'f Binding, usize, &'f Region),
    /// The region ends: its results are read here.
    End(&'f Binding, usize, &'f Region),
    /// Its regions are done, and its value is there.
    Leave(&'f Binding),
}

/// What defines a value.
#[derive(Clone, Copy, Debug)]
pub enum Definition<'f> {
    /// Parameter of that index.
    Param(usize),
    /// Parameter of that index of a region of that index of the binding.
    RegionParam(&'f Binding, usize, usize),
    /// The binding.
    Binding(&'f Binding),
}

/// Who defines each value, by number.
#[derive(Clone, Debug, Default)]
pub struct Definitions<'f> {
    of: Vec<Option<Definition<'f>>>,
}

impl<'f> Definitions<'f> {
    /// What defines `value`; `None` if nothing does.
    pub fn get(&self, value: ValueId) -> Option<Definition<'f>> {
        self.of.get(value.0 as usize).copied().flatten()
    }

    /// The binding that defines `value`; `None` for a parameter, also of a region.
    pub fn binding(&self, value: ValueId) -> Option<&'f Binding> {
        match self.get(value)? {
            Definition::Binding(binding) => Some(binding),
            Definition::Param(_) | Definition::RegionParam(..) => None,
        }
    }
}

/// Who reads each value, by number.
#[derive(Clone, Debug, Default)]
pub struct Uses {
    users: Vec<Vec<User>>,
}

/// A reader of a value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum User {
    /// Operand of that index of the binding of that value.
    Operand(ValueId, usize),
    /// Result of that index of a region of that index of the binding of that value.
    Yield(ValueId, usize, usize),
    /// A result of the function.
    Result(usize),
    /// A symbol that is bound to it, by its index in [`Function::syms`].
    Symbol(usize),
}

impl Uses {
    /// The readers of `value`, in the order of the walk; the function's results and symbols come last.
    pub fn of(&self, value: ValueId) -> &[User] {
        self.users.get(value.0 as usize).map_or(&[], Vec::as_slice)
    }

    /// How many readers there are.
    pub fn count(&self, value: ValueId) -> usize {
        self.of(value).len()
    }

    fn add(&mut self, value: ValueId, user: User) {
        if let Some(users) = self.users.get_mut(value.0 as usize) {
            users.push(user);
        }
    }
}

impl Binding {
    /// A binding without regions.
    pub fn new(out: ValueId, op: Op, args: Vec<ValueId>) -> Binding {
        Binding { out, op, args, regions: Vec::new() }
    }
}

/// All bindings, each before those in its regions.
#[derive(Clone, Debug)]
pub struct Bindings<'f> {
    stack: Vec<Level<'f>>,
}

#[derive(Clone, Debug)]
enum Level<'f> {
    Blocks(std::slice::Iter<'f, BindingBlock>),
    Bindings(std::slice::Iter<'f, Binding>),
    Regions(std::slice::Iter<'f, Region>),
}

impl<'f> Iterator for Bindings<'f> {
    type Item = &'f Binding;

    fn next(&mut self) -> Option<&'f Binding> {
        loop {
            let next = match self.stack.last_mut()? {
                Level::Blocks(blocks) => blocks.next().map(|block| Level::Bindings(block.bindings.iter())),
                Level::Regions(regions) => regions.next().map(|region| Level::Blocks(region.blocks.iter())),
                Level::Bindings(bindings) => {
                    if let Some(binding) = bindings.next() {
                        if !binding.regions.is_empty() {
                            self.stack.push(Level::Regions(binding.regions.iter()));
                        }
                        return Some(binding);
                    }
                    None
                }
            };
            match next {
                Some(level) => self.stack.push(level),
                None => drop(self.stack.pop()),
            }
        }
    }
}

/// All bindings of some blocks, each before those in its regions.
pub fn bindings_of(blocks: &[BindingBlock]) -> Bindings<'_> {
    Bindings { stack: vec![Level::Blocks(blocks.iter())] }
}

/// Calls `f` with every binding of some blocks, each before those in its regions.
pub fn bindings_mut(blocks: &mut [BindingBlock], f: &mut impl FnMut(&mut Binding)) {
    for binding in blocks.iter_mut().flat_map(|block| &mut block.bindings) {
        f(binding);
        for region in &mut binding.regions {
            bindings_mut(&mut region.blocks, f);
        }
    }
}

/// Calls `f` with every list of blocks: the given one first, then those of the regions inside.
pub fn bodies_mut(blocks: &mut Vec<BindingBlock>, f: &mut impl FnMut(&mut Vec<BindingBlock>)) {
    f(blocks);
    for binding in blocks.iter_mut().flat_map(|block| &mut block.bindings) {
        binding.regions.iter_mut().for_each(|region| bodies_mut(&mut region.blocks, f));
    }
}

/// Walks over some blocks with the beginning and the end of every region.
pub fn walk<'f>(blocks: &'f [BindingBlock], f: &mut impl FnMut(Event<'f>)) {
    for binding in blocks.iter().flat_map(|block| &block.bindings) {
        f(Event::Enter(binding));
        for (index, region) in binding.regions.iter().enumerate() {
            f(Event::Begin(binding, index, region));
            walk(&region.blocks, f);
            f(Event::End(binding, index, region));
        }
        f(Event::Leave(binding));
    }
}

impl Function {
    /// All bindings, each before those in its regions.
    pub fn bindings(&self) -> Bindings<'_> {
        bindings_of(&self.blocks)
    }

    /// Calls `f` with every binding, each before those in its regions.
    pub fn bindings_mut(&mut self, mut f: impl FnMut(&mut Binding)) {
        bindings_mut(&mut self.blocks, &mut f);
    }

    /// Walks over the body with the beginning and the end of every region.
    pub fn walk<'f>(&'f self, mut f: impl FnMut(Event<'f>)) {
        walk(&self.blocks, &mut f);
    }

    /// Who defines each value.
    pub fn definitions(&self) -> Definitions<'_> {
        let mut of: Vec<Option<Definition<'_>>> = vec![None; self.values.len()];
        let mut set = |value: ValueId, definition| {
            if let Some(slot) = of.get_mut(value.0 as usize) {
                *slot = Some(definition);
            }
        };
        for (index, param) in self.params.iter().enumerate() {
            set(param.value, Definition::Param(index));
        }
        for binding in self.bindings() {
            set(binding.out, Definition::Binding(binding));
            for (index, region) in binding.regions.iter().enumerate() {
                for (position, param) in region.params.iter().enumerate() {
                    set(*param, Definition::RegionParam(binding, index, position));
                }
            }
        }
        Definitions { of }
    }

    /// Who reads each value.
    pub fn uses(&self) -> Uses {
        let mut uses = Uses { users: vec![Vec::new(); self.values.len()] };
        self.walk(|event| match event {
            Event::Enter(binding) => {
                let args = binding.args.iter().enumerate();
                args.for_each(|(i, arg)| uses.add(*arg, User::Operand(binding.out, i)));
            }
            Event::End(binding, index, region) => {
                let results = region.results.iter().enumerate();
                results.for_each(|(i, value)| uses.add(*value, User::Yield(binding.out, index, i)));
            }
            Event::Begin(..) | Event::Leave(_) => {}
        });
        self.results.iter().enumerate().for_each(|(i, value)| uses.add(*value, User::Result(i)));
        for (index, decl) in self.syms.iter().enumerate() {
            if let SymKind::Bound(value) = decl.kind {
                uses.add(value, User::Symbol(index));
            }
        }
        uses
    }

    /// Adds a value that no binding defines yet. Its number is the greatest: [`super::renumbered`] restores the order.
    pub fn add_value(&mut self, ty: Type, name: &str, loc: Loc) -> ValueId {
        self.values.push(ValueData { ty, name: name.to_string(), loc, range: None });
        ValueId(self.values.len() as u32 - 1)
    }

    /// Reads `map[v]` wherever `v` is read: as an operand, as a result of a region and of the function. A chain
    /// (`a -> b`, `b -> c`) is followed to its end.
    pub fn replace_uses(&mut self, map: &BTreeMap<ValueId, ValueId>) {
        if map.is_empty() {
            return;
        }
        let to = |value: &mut ValueId| *value = end_of(map, *value);
        self.bindings_mut(|binding| {
            binding.args.iter_mut().for_each(to);
            binding.regions.iter_mut().for_each(|region| region.results.iter_mut().for_each(to));
        });
        self.results.iter_mut().for_each(to);
    }

    /// Replaces each binding by what `f` gives for it (nothing, itself, or several in order); those in its regions
    /// come first, so that `f` sees them done. What is of another kind than its block begins one. `f` may add values,
    /// and reads types through the function, whose blocks it must leave alone.
    pub fn rewrite(&mut self, mut f: impl FnMut(&mut Function, Binding) -> Vec<Binding>) {
        let mut blocks = std::mem::take(&mut self.blocks);
        rewrite_blocks(self, &mut blocks, &mut f);
        self.blocks = blocks;
    }
}

/// Where a chain of replacements ends; a circle is left where it is entered.
fn end_of(map: &BTreeMap<ValueId, ValueId>, value: ValueId) -> ValueId {
    let mut at = value;
    for _ in 0..map.len() {
        match map.get(&at) {
            Some(next) => at = *next,
            None => break,
        }
    }
    at
}

fn rewrite_blocks(
    func: &mut Function,
    blocks: &mut Vec<BindingBlock>,
    f: &mut impl FnMut(&mut Function, Binding) -> Vec<Binding>,
) {
    let mut done = Vec::with_capacity(blocks.len());
    for block in std::mem::take(blocks) {
        let mut run = BindingBlock { kind: block.kind, bindings: Vec::with_capacity(block.bindings.len()) };
        for mut binding in block.bindings {
            binding.regions.iter_mut().for_each(|region| rewrite_blocks(func, &mut region.blocks, f));
            for made in f(func, binding) {
                add(&mut done, &mut run, made);
            }
        }
        done.push(run);
    }
    *blocks = done;
}

/// Puts a binding behind a run of its kind; one of another kind ends the run.
fn add(done: &mut Vec<BindingBlock>, run: &mut BindingBlock, binding: Binding) {
    let kind = binding_kind(&binding);
    if kind != run.kind {
        let ended = std::mem::replace(run, BindingBlock { kind, bindings: Vec::new() });
        done.extend(Some(ended).filter(|block| !block.bindings.is_empty()));
    }
    run.bindings.push(binding);
}
