//! A function under test and what it is called with.

use tenfold_ir::arith::{Fact, IntExpr, Sym};
use tenfold_ir::op::{ArgOp, ElementOp, ReduceOp};
use tenfold_ir::ops::{self, Arg, AttrValue, OpCall};
use tenfold_ir::relax::{Builder, FactDecl, Op, ParamKind, SymDecl, SymKind, TensorType, ValueId};
use tenfold_ir::{ConstBytes, ConstData, DType, Function, Loc, Module, Scalar};

use crate::data::ordinary;

/// What a parameter is given: every cell of its buffer, gaps of a strided one included.
#[derive(Clone, Debug)]
pub(crate) struct Given {
    pub cells: Vec<Scalar>,
    /// Distances of a strided parameter.
    pub strides: Vec<i64>,
}

/// What a function is called with once.
#[derive(Clone)]
#[allow(dead_code, reason = "the random tests call a function several times")]
pub(crate) struct Setting {
    pub syms: Vec<(Sym, i64)>,
    pub given: Vec<Given>,
    pub wanted: Vec<Wanted>,
}

/// A function and its arguments.
#[derive(Clone)]
pub(crate) struct Case {
    pub name: String,
    pub module: Module,
    pub syms: Vec<(Sym, i64)>,
    pub given: Vec<Given>,
    /// What results must be by another computation of them.
    pub wanted: Vec<Wanted>,
}

/// A result as a test computes it.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    /// Which result.
    pub value: ValueId,
    /// What is called, for texts.
    pub label: &'static str,
    /// Its elements.
    pub cells: Vec<Scalar>,
    /// How far the interpreter may be from each of them; 0 where nothing rounds.
    pub slack: Vec<f64>,
}

/// Builds a case: a relax builder that keeps what each parameter is given.
pub(crate) struct Make {
    pub b: Builder,
    name: String,
    syms: Vec<(Sym, i64)>,
    given: Vec<Given>,
    constants: Module,
    seed: u64,
    wanted: Vec<Wanted>,
}

/// Extents that are constants.
pub(crate) fn fixed(shape: &[i64]) -> Vec<IntExpr> {
    shape.iter().map(|d| IntExpr::from(*d)).collect()
}

impl Make {
    pub(crate) fn new(name: &str) -> Self {
        let seed = name.bytes().fold(7, |h: u64, c| h.wrapping_mul(31).wrapping_add(u64::from(c)));
        Make {
            b: Builder::new(name),
            name: name.to_string(),
            syms: Vec::new(),
            given: Vec::new(),
            constants: Module::default(),
            seed,
            wanted: Vec::new(),
        }
    }

    /// A named dim and its value. `param` and `axis` say which parameter binds it.
    pub(crate) fn dim(&mut self, name: &str, value: i64, param: usize, axis: usize) -> IntExpr {
        let sym = Sym::new(name);
        let kind = SymKind::Dim { param, axis };
        self.b.declare_sym(SymDecl { sym: sym.clone(), kind, loc: Loc::default() });
        self.syms.push((sym.clone(), value));
        IntExpr::var(sym)
    }

    /// A fact: a dim has an element at least.
    pub(crate) fn not_empty(&mut self, dim: &IntExpr) {
        let fact = Fact::NonNegative(dim - 1);
        self.b.add_fact(FactDecl { fact, text: format!("{dim} >= 1"), loc: Loc::default() });
    }

    /// An index parameter and its value.
    pub(crate) fn index(&mut self, name: &str, value: i64) -> IntExpr {
        let sym = Sym::new(name);
        let kind = SymKind::IndexParam { param: self.given.len(), unsigned: value >= 0 };
        self.b.declare_sym(SymDecl { sym: sym.clone(), kind, loc: Loc::default() });
        self.syms.push((sym.clone(), value));
        // It takes a place in the user's list.
        self.given.push(Given { cells: Vec::new(), strides: Vec::new() });
        IntExpr::var(sym)
    }

    fn elements(&self, shape: &[IntExpr]) -> usize {
        let value = |sym: &Sym| self.syms.iter().find(|(s, _)| s == sym).map(|(_, v)| *v);
        shape.iter().map(|d| d.eval(&value).expect("extents have values") as usize).product()
    }

    fn param(&mut self, kind: ParamKind, dtype: DType, shape: Vec<IntExpr>, cells: Vec<Scalar>) -> ValueId {
        assert_eq!(cells.len(), self.elements(&shape), "{}", self.name);
        let position = self.given.len();
        self.given.push(Given { cells, strides: Vec::new() });
        let ty = TensorType { dtype, shape };
        self.b.param(kind, ty, &format!("x{position}"), position, Loc::default())
    }

    /// An input of ordinary values.
    pub(crate) fn input(&mut self, dtype: DType, shape: &[IntExpr]) -> ValueId {
        self.seed += 1;
        let cells = ordinary(dtype, self.elements(shape), self.seed);
        self.param(ParamKind::Input, dtype, shape.to_vec(), cells)
    }

    /// An input of these values.
    pub(crate) fn values(&mut self, dtype: DType, shape: &[i64], cells: &[Scalar]) -> ValueId {
        self.param(ParamKind::Input, dtype, fixed(shape), cells.to_vec())
    }

    /// An input of these values, some of whose extents are dims.
    pub(crate) fn of(&mut self, dtype: DType, shape: &[IntExpr], cells: &[Scalar]) -> ValueId {
        self.param(ParamKind::Input, dtype, shape.to_vec(), cells.to_vec())
    }

    /// A state of ordinary values.
    pub(crate) fn state(&mut self, dtype: DType, shape: &[IntExpr]) -> ValueId {
        self.seed += 1;
        let cells = ordinary(dtype, self.elements(shape), self.seed);
        self.param(ParamKind::State, dtype, shape.to_vec(), cells)
    }

    /// A scalar by value.
    pub(crate) fn scalar(&mut self, value: Scalar) -> ValueId {
        self.param(ParamKind::Scalar, value.dtype, Vec::new(), vec![value])
    }

    /// A strided input.
    pub(crate) fn strided(&mut self, dtype: DType, shape: &[i64], strides: &[i64]) -> ValueId {
        let reach: i64 = shape.iter().zip(strides).map(|(d, s)| (d - 1).max(0) * s).sum();
        self.seed += 1;
        let cells = ordinary(dtype, reach as usize + 1, self.seed);
        let position = self.given.len();
        self.given.push(Given { cells, strides: strides.to_vec() });
        let ty = TensorType { dtype, shape: fixed(shape) };
        self.b.param(ParamKind::Strided, ty, &format!("x{position}"), position, Loc::default())
    }

    /// A constant of ordinary values.
    pub(crate) fn constant(&mut self, dtype: DType, shape: &[i64]) -> ValueId {
        self.seed += 1;
        let cells = ordinary(dtype, self.elements(&fixed(shape)), self.seed);
        let bytes: Vec<u8> = cells.iter().flat_map(|c| c.to_le_bytes()).collect();
        let hash = format!("{}_{}", self.name, self.seed);
        let id = self.constants.add_constant(ConstData {
            hash,
            name: "weights".into(),
            dtype,
            shape: shape.iter().map(|d| *d as u64).collect(),
            bytes: ConstBytes::Inline(bytes.into()),
        });
        self.b.constant(id, TensorType { dtype, shape: fixed(shape) })
    }

    /// A scalar literal.
    pub(crate) fn lit(&mut self, dtype: DType, value: f64) -> ValueId {
        self.b.scalar(Scalar::float(dtype, value))
    }

    #[track_caller]
    pub(crate) fn emit(&mut self, op: Op, args: &[ValueId]) -> ValueId {
        let result = self.b.emit(op, args);
        result.unwrap_or_else(|e| panic!("{}: {e:?}", self.name))
    }

    #[track_caller]
    pub(crate) fn element(&mut self, op: ElementOp, args: &[ValueId]) -> ValueId {
        self.emit(Op::Element(op), args)
    }

    pub(crate) fn reduce(&mut self, op: ReduceOp, x: ValueId, axes: &[usize], keepdims: bool) -> ValueId {
        self.emit(Op::Reduce { op, axes: axes.to_vec(), keepdims }, &[x])
    }

    pub(crate) fn arg(&mut self, op: ArgOp, x: ValueId, axis: Option<usize>, keepdims: bool) -> ValueId {
        self.emit(Op::ArgReduce { op, axis, keepdims }, &[x])
    }

    /// A call of an operator by its name.
    #[track_caller]
    pub(crate) fn call(&mut self, name: &str, args: &[Arg], attrs: &[(&str, AttrValue)]) -> ValueId {
        self.typed(name, None, args, attrs)
    }

    /// A call of an operator with a turbofish.
    #[track_caller]
    pub(crate) fn typed(
        &mut self,
        name: &str,
        dtype: Option<DType>,
        args: &[Arg],
        attrs: &[(&str, AttrValue)],
    ) -> ValueId {
        let attrs = attrs.iter().map(|(name, value)| (name.to_string(), value.clone())).collect();
        let call = OpCall { args: args.to_vec(), attrs, dtype };
        let def = ops::lookup(name).unwrap_or_else(|| panic!("no operator `{name}`"));
        ops::apply(&mut self.b, def, &call).unwrap_or_else(|e| panic!("{}: {name}: {e:?}", self.name))
    }

    /// The components of a tuple.
    pub(crate) fn parts(&mut self, v: ValueId, count: usize) -> Vec<ValueId> {
        (0..count).map(|i| self.emit(Op::TupleGet(i), &[v])).collect()
    }

    /// How many parameters there are.
    pub(crate) fn given(&self) -> usize {
        self.given.len()
    }

    /// What a parameter was given.
    pub(crate) fn cells(&self, param: usize) -> &[Scalar] {
        &self.given[param].cells
    }

    /// A result must have these elements, each within its slack.
    pub(crate) fn wants(&mut self, value: ValueId, label: &'static str, cells: Vec<Scalar>, slack: Vec<f64>) {
        self.wanted.push(Wanted { value, label, cells, slack });
    }

    /// A result must have exactly these elements.
    pub(crate) fn exactly(&mut self, value: ValueId, cells: Vec<Scalar>) {
        let slack = vec![0.0; cells.len()];
        self.wants(value, "", cells, slack);
    }

    /// A result must have these elements within a part of the largest of them, which the operator's roundings explain.
    pub(crate) fn near(&mut self, value: ValueId, numbers: &[f64], within: f64) {
        let dtype = self.b.tensor(value).dtype;
        let cells: Vec<Scalar> = numbers.iter().map(|x| Scalar::float(dtype, *x)).collect();
        let finite = cells.iter().map(|c| c.to_f64().abs()).filter(|x| x.is_finite());
        let slack = within * finite.fold(0.0, f64::max).max(f64::MIN_POSITIVE);
        let slack = vec![slack; cells.len()];
        self.wants(value, "", cells, slack);
    }

    /// Ends the function.
    pub(crate) fn done(self, results: &[ValueId]) -> Case {
        let mut me = self;
        let mut module = me.constants;
        for kernel in me.b.take_kernels() {
            module.functions.insert(kernel.name.clone(), Function::Prim(kernel));
        }
        let func = me.b.finish(results);
        module.entry.clone_from(&me.name);
        module.sources = vec![me.name.clone()];
        module.functions.insert(me.name.clone(), Function::Relax(func));
        Case { name: me.name, module, syms: me.syms, given: me.given, wanted: me.wanted }
    }
}
