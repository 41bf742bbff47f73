//! Random graphs of every operator, dtype and kind of binding: a graph grows by steps, of which each follows from its
//! own seed and from what is there, so that some can be left out.

mod calls;
mod layers;
mod operators;
mod params;
mod regions;
mod shapes;
mod table;

use std::collections::BTreeMap;

use tenfold_ir::arith::{IntExpr, Sym};
use tenfold_ir::relax::{Builder, Op, SymDecl, SymKind, Type, ValueId, infer};
use tenfold_ir::{ConstBytes, ConstData, DType, Function, Loc, Module, Scalar};

use crate::case::Setting;
use crate::data::{Random, ordinary};

/// Elements that a value of a graph of any operators may have: interpreters run what is made here.
const MOST: i64 = 400;
/// Axes that a value may have.
const RANK: usize = 5;

/// What a graph is made of.
#[derive(Clone, Copy)]
pub(crate) enum Made {
    /// Any operators, of few elements.
    OfAny,
    /// Layers of models.
    OfLayers,
}

/// A graph and what it is called with.
pub(crate) struct Grown {
    pub(crate) module: Module,
    pub(crate) settings: Vec<Setting>,
}

/// A graph that grows.
struct Grow {
    b: Builder,
    random: Random,
    /// Holds the constants, and functions that are called.
    module: Module,
    /// Tensors that may be read here.
    pool: Vec<ValueId>,
    /// The dtypes that new tensors have.
    dtypes: Vec<DType>,
    /// Named dims.
    dims: Vec<IntExpr>,
    /// What every symbol is at most.
    greatest: BTreeMap<Sym, i64>,
    /// States: index among the parameters, and what it holds by now.
    held: Vec<(usize, ValueId)>,
    /// Symbols made so far.
    fresh: usize,
    /// Regions around what is emitted.
    depth: usize,
    /// Elements that a value may have.
    limit: i64,
    seed: u64,
}

/// The seeds of a graph's steps.
pub(crate) fn steps(made: Made, seed: u64) -> Vec<u64> {
    let mut random = Random::new(3000 + seed);
    let count = match made {
        Made::OfAny => 4 + random.below(20),
        Made::OfLayers => 2 + random.below(6),
    };
    (0..count).map(|_| random.bits()).collect()
}

/// The graph of these steps; the newest of its values are its results.
pub(crate) fn grow(made: Made, name: &str, seed: u64, steps: &[u64], results: usize) -> Grown {
    let mut g = Grow::new(made, name, seed);
    let dims = match made {
        Made::OfAny => g.params(),
        Made::OfLayers => g.layer_params(),
    };
    for step in steps {
        g.random = Random::new(*step);
        match made {
            Made::OfAny => g.step(),
            Made::OfLayers => g.layer_step(),
        }
    }
    let known = g.results(results);
    let (mut module, mut b) = (g.module, g.b);
    for kernel in b.take_kernels() {
        module.functions.insert(kernel.name.clone(), Function::Prim(kernel));
    }
    let func = b.finish(&known);
    let settings = params::settings(&func, seed, &dims);
    module.entry = name.to_string();
    module.sources = vec![name.to_string()];
    module.functions.insert(name.to_string(), Function::Relax(func));
    Grown { module, settings }
}

impl Grow {
    fn new(made: Made, name: &str, seed: u64) -> Self {
        let mut random = Random::new(9000 + seed);
        let palette = [DType::F32, DType::F32, DType::I32, DType::F16, DType::BF16, DType::I8, DType::U8];
        let mut dtypes = vec![random.pick(&palette)];
        (0..random.below(3)).for_each(|_| dtypes.push(random.pick(&DType::ALL)));
        Grow {
            b: Builder::new(name),
            random,
            module: Module::default(),
            pool: Vec::new(),
            dtypes,
            dims: Vec::new(),
            greatest: BTreeMap::new(),
            held: Vec::new(),
            fresh: 0,
            depth: 0,
            limit: match made {
                Made::OfAny => MOST,
                Made::OfLayers => layers::MOST,
            },
            seed,
        }
    }

    /// One more value of some kind, where what is picked fits together.
    fn step(&mut self) {
        match self.random.below(40) {
            0..=9 => self.table_step(),
            10..=13 => self.element(),
            14..=16 => self.movement(),
            17 | 18 => self.slice(),
            19 | 20 => self.reduction(),
            21 => self.product(),
            22 => self.window(),
            23 => self.norm(),
            24 => self.cast(),
            25 | 26 => self.make(),
            27 | 28 => self.shape_step(),
            29 => self.extent_of_data(),
            30 | 31 => self.branch(),
            32 | 33 => self.counted(),
            34 => self.repeated(),
            35 => self.tuple(),
            36 => self.call(),
            _ => self.store(),
        }
    }

    /// The newest values whose types the caller knows.
    fn results(&mut self, most: usize) -> Vec<ValueId> {
        let callers = |sym: &Sym| self.dims.iter().any(|dim| dim.as_var() == Some(sym));
        let known = |v: &&ValueId| self.b.tensor(**v).shape.iter().all(|d| d.vars().iter().all(callers));
        self.pool.iter().rev().filter(known).take(most).copied().collect()
    }

    /// A value of the pool; the newest are the likeliest, so that graphs grow deep.
    fn any(&mut self) -> ValueId {
        let n = self.pool.len();
        let back = self.random.below(n).min(self.random.below(n));
        self.pool[n - 1 - back]
    }

    /// A value that fits, if there is one.
    fn any_with(&mut self, fits: impl Fn(&Self, ValueId) -> bool) -> Option<ValueId> {
        let all: Vec<ValueId> = self.pool.iter().copied().filter(|v| fits(self, *v)).collect();
        if all.is_empty() {
            return None;
        }
        let back = self.random.below(all.len()).min(self.random.below(all.len()));
        Some(all[all.len() - 1 - back])
    }

    fn any_of(&mut self, dtype: DType) -> Option<ValueId> {
        self.any_with(|g, v| g.dtype(v) == dtype)
    }

    fn dtype(&self, value: ValueId) -> DType {
        self.b.tensor(value).dtype
    }

    fn shape(&self, value: ValueId) -> Vec<IntExpr> {
        self.b.tensor(value).shape.clone()
    }

    fn chance(&mut self, one_of: usize) -> bool {
        self.random.below(one_of) == 0
    }

    /// How many elements a shape has at most.
    fn most(&self, shape: &[IntExpr]) -> Option<i64> {
        let value = |sym: &Sym| self.greatest.get(sym).copied();
        shape.iter().try_fold(1i64, |n, dim| n.checked_mul(dim.eval(&value)?.max(1)))
    }

    /// Whether values of this shape are small enough.
    fn small(&self, shape: &[IntExpr]) -> bool {
        shape.len() <= RANK && self.most(shape).is_some_and(|n| n <= self.limit)
    }

    /// Adds what an operator gives, if it takes these operands and gives little enough.
    fn push(&mut self, op: Op, args: &[ValueId]) -> Option<ValueId> {
        let types: Vec<Type> = args.iter().map(|arg| self.b.ty(*arg).clone()).collect();
        match infer(&self.b.prover, &op, &types).ok()?? {
            Type::Tensor(ty) if self.small(&ty.shape) => {}
            Type::Tensor(_) => return None,
            Type::Tuple(_) | Type::Shape(_) => return self.b.emit(op, args).ok(),
        }
        let value = self.b.emit(op, args).ok()?;
        self.pool.push(value);
        Some(value)
    }

    /// Adds a value that is there.
    fn keep(&mut self, value: ValueId) {
        match self.b.ty(value).clone() {
            Type::Tensor(ty) if self.small(&ty.shape) => self.pool.push(value),
            Type::Tuple(items) => {
                for n in 0..items.len() {
                    self.push(Op::TupleGet(n), &[value]);
                }
            }
            Type::Tensor(_) | Type::Shape(_) => {}
        }
    }

    /// A symbol of a new name, at most this.
    fn sym(&mut self, base: &str, greatest: i64) -> Sym {
        self.fresh += 1;
        let sym = Sym::new(format!("{base}{}", self.fresh));
        self.greatest.insert(sym.clone(), greatest);
        sym
    }

    fn declare(&mut self, sym: Sym, kind: SymKind) {
        self.b.declare_sym(SymDecl { sym, kind, loc: Loc::default() });
    }

    /// A constant of ordinary values, or of one value all over.
    fn constant(&mut self, dtype: DType, shape: &[i64]) -> ValueId {
        let count = shape.iter().product::<i64>() as usize;
        let mut cells = ordinary(dtype, count, self.random.bits());
        if self.chance(4) {
            let one = cells.first().copied().unwrap_or(Scalar::one(dtype));
            cells.fill(one);
        }
        let bytes: Vec<u8> = cells.iter().flat_map(|c| c.to_le_bytes()).collect();
        let hash = format!("graph_{}_{}", self.seed, self.module.constants.len());
        let shape_of_data = shape.iter().map(|d| *d as u64).collect();
        let data =
            ConstData { hash, name: "w".into(), dtype, shape: shape_of_data, bytes: ConstBytes::Inline(bytes.into()) };
        let id = self.module.add_constant(data);
        let shape = shape.iter().map(|d| IntExpr::from(*d)).collect();
        self.b.constant(id, tenfold_ir::relax::TensorType { dtype, shape })
    }
}
