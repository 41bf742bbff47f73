//! Parameters, and what they are given.

use tenfold_ir::arith::{Fact, IntExpr, Sym};
use tenfold_ir::relax::{self, FactDecl, ParamKind, SymDecl, SymKind, TensorType, Type};
use tenfold_ir::{DType, Loc, Scalar};

use super::Grow;
use crate::case::{Given, Setting};
use crate::data::{Random, ordinary, special};

/// What a named dim is in one setting after another.
const EXTENTS: [[i64; 4]; 5] = [[3, 0, 1, 6], [1, 4, 2, 0], [2, 1, 5, 3], [0, 3, 1, 4], [5, 2, 7, 1]];

/// Values that a symbol of the caller takes.
pub(super) struct Choice {
    sym: Sym,
    values: Vec<i64>,
}

impl Grow {
    /// Named dims, inputs, scalars, indices and states. Gives what the caller chooses.
    pub(super) fn params(&mut self) -> Vec<Choice> {
        let mut chosen = Vec::new();
        let named = self.random.below(3);
        for axis in 0..named {
            chosen.push(self.named_dim(axis));
        }
        let inputs = named.max(1 + self.random.below(3));
        for position in 0..inputs {
            let dim = self.dims.get(position).cloned();
            self.input(position, dim);
        }
        let mut position = inputs;
        for _ in 0..self.random.below(3) {
            self.state(position);
            position += 1;
        }
        if self.chance(2) {
            let ty = TensorType { dtype: self.dtypes[0], shape: Vec::new() };
            let scalar = self.b.param(ParamKind::Scalar, ty, &format!("x{position}"), position, Loc::default());
            self.pool.push(scalar);
            position += 1;
        }
        if self.chance(3) {
            chosen.push(self.index(position));
        }
        chosen
    }

    /// A dim that the axis 0 of this parameter names.
    fn named_dim(&mut self, param: usize) -> Choice {
        let least = self.random.below(3) as i64;
        let values: Vec<i64> = self.random.pick(&EXTENTS).into_iter().filter(|v| *v >= least).take(3).collect();
        self.dim(["N", "M"][param], SymKind::Dim { param, axis: 0 }, least, values)
    }

    /// A dim of that name, which has these values and is known to be no less than `least`; what it is at most is known now
    /// and then.
    pub(super) fn dim(&mut self, name: &str, kind: SymKind, least: i64, values: Vec<i64>) -> Choice {
        let sym = Sym::new(name);
        let most = values.iter().copied().max().unwrap_or(0);
        self.b.declare_sym(SymDecl { sym: sym.clone(), kind, loc: Loc::default() });
        let dim = IntExpr::var(sym.clone());
        if least > 0 {
            self.fact(Fact::ge(&dim, &IntExpr::from(least)));
        }
        if self.chance(2) {
            let bound = most + self.random.below(3) as i64;
            self.fact(Fact::le(&dim, &IntExpr::from(bound)));
        }
        self.greatest.insert(sym.clone(), most);
        self.dims.push(dim);
        Choice { sym, values }
    }

    fn fact(&mut self, fact: Fact) {
        let text = fact.to_string();
        self.b.add_fact(FactDecl { fact, text, loc: Loc::default() });
    }

    /// An extent: a number, or a named dim now and then.
    pub(super) fn extent(&mut self) -> IntExpr {
        if !self.dims.is_empty() && self.random.below(3) == 0 {
            let n = self.random.below(self.dims.len());
            return self.dims[n].clone();
        }
        IntExpr::from(if self.chance(24) { 0 } else { 1 + self.random.below(5) as i64 })
    }

    /// A shape of few elements.
    pub(super) fn new_shape(&mut self, first: Option<IntExpr>) -> Vec<IntExpr> {
        let mut shape: Vec<IntExpr> = first.into_iter().collect();
        for _ in 0..self.random.below(4) {
            shape.push(self.extent());
            if !self.small(&shape) {
                shape.pop();
            }
        }
        shape
    }

    fn input(&mut self, position: usize, dim: Option<IntExpr>) {
        let first = dim.or_else(|| Some(IntExpr::from(1 + self.random.below(5) as i64)));
        let shape = self.new_shape(first);
        let n = self.random.below(self.dtypes.len());
        let ty = TensorType { dtype: self.dtypes[n], shape };
        let fixed = ty.shape.iter().all(|d| d.as_const().is_some());
        let kind = if fixed && self.chance(5) { ParamKind::Strided } else { ParamKind::Input };
        let value = self.b.param(kind, ty, &format!("x{position}"), position, Loc::default());
        self.pool.push(value);
    }

    fn state(&mut self, position: usize) {
        let shape = if self.chance(2) { self.shape(self.pool[0]) } else { self.new_shape(None) };
        let ty = TensorType { dtype: self.dtypes[0], shape };
        let value = self.b.param(ParamKind::State, ty, &format!("x{position}"), position, Loc::default());
        self.held.push((self.b.function().params.len() - 1, value));
        self.pool.push(value);
    }

    /// An index value, a number of a few units.
    fn index(&mut self, param: usize) -> Choice {
        let sym = Sym::new("at");
        self.declare(sym.clone(), SymKind::IndexParam { param, unsigned: true });
        self.greatest.insert(sym.clone(), 4);
        let most = IntExpr::from(4);
        self.fact(Fact::le(&IntExpr::var(sym.clone()), &most));
        self.dims.push(IntExpr::var(sym.clone()));
        Choice { sym, values: vec![2, 0, 4] }
    }
}

/// Arguments for each value of the symbols; the last settings have special values too.
pub(super) fn settings(func: &relax::Function, seed: u64, chosen: &[Choice]) -> Vec<Setting> {
    let count = chosen.iter().map(|c| c.values.len()).max().unwrap_or(2);
    let settings = (0..count).map(|n| {
        let syms: Vec<(Sym, i64)> = chosen.iter().map(|c| (c.sym.clone(), c.values[n % c.values.len()])).collect();
        let mut random = Random::new(seed ^ (n as u64) << 40);
        let given = given(func, &syms, n + 1 == count && seed.is_multiple_of(3), &mut random);
        Setting { syms, given, wanted: Vec::new() }
    });
    settings.collect()
}

/// What each parameter is given, by its position.
fn given(func: &relax::Function, syms: &[(Sym, i64)], specials: bool, random: &mut Random) -> Vec<Given> {
    let indices = func.syms.iter().filter_map(|s| match s.kind {
        SymKind::IndexParam { param, .. } => Some((param, Given { cells: Vec::new(), strides: Vec::new() })),
        SymKind::Dim { .. } | SymKind::Stride { .. } | SymKind::Bound(_) | SymKind::Loop(_) => None,
    });
    let mut all: Vec<(usize, Given)> = indices.collect();
    let value = |sym: &Sym| syms.iter().find(|(s, _)| s == sym).map(|(_, v)| *v);
    for param in &func.params {
        let Type::Tensor(ty) = &func.values[param.value.0 as usize].ty else { continue };
        let shape: Vec<i64> = ty.shape.iter().map(|d| d.eval(&value).unwrap_or(0)).collect();
        let strides = if param.kind == ParamKind::Strided { strides(&shape, random) } else { Vec::new() };
        let reach: i64 = shape.iter().zip(&strides).map(|(d, s)| (d - 1).max(0) * s).sum::<i64>() + 1;
        let count = if strides.is_empty() { shape.iter().product() } else { reach };
        all.push((param.position, Given { cells: cells(ty.dtype, count as usize, specials, random), strides }));
    }
    all.sort_by_key(|(position, _)| *position);
    all.into_iter().map(|(_, given)| given).collect()
}

/// Distances of a strided input: rows with gaps, turned, or one element for all.
fn strides(shape: &[i64], random: &mut Random) -> Vec<i64> {
    let mut axes: Vec<usize> = (0..shape.len()).collect();
    if random.below(2) == 0 {
        axes.reverse();
    }
    let (mut strides, mut distance) = (vec![0; shape.len()], 1 + random.below(2) as i64);
    for axis in axes.into_iter().rev() {
        strides[axis] = if random.below(8) == 0 { 0 } else { distance };
        distance = distance * shape[axis].max(1) + random.below(2) as i64;
    }
    strides
}

fn cells(dtype: DType, count: usize, specials: bool, random: &mut Random) -> Vec<Scalar> {
    let mut cells = ordinary(dtype, count, random.bits());
    if specials {
        let special = special(dtype);
        for cell in &mut cells {
            if random.below(4) == 0 {
                *cell = random.pick(&special);
            }
        }
    }
    cells
}
