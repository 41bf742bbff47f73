//! Calls of any entry of the table of operators, with arguments made from what the entry says of itself: whatever is
//! added to the table is called here from then on.

use tenfold_ir::DType;
use tenfold_ir::arith::IntExpr;
use tenfold_ir::ops::{self, Arg, AttrDef, AttrValue, OpCall, OpDef};

use super::Grow;

impl Grow {
    pub(super) fn table_step(&mut self) {
        let all: Vec<&'static OpDef> = ops::all().collect();
        let def = self.random.pick(&all);
        for _ in 0..3 {
            let call = self.table_call(def);
            if let Ok(value) = ops::apply(&mut self.b, def, &call) {
                self.keep(value);
                return;
            }
        }
    }

    fn table_call(&mut self, def: &OpDef) -> OpCall {
        let names: Vec<&str> = def.signature.split(',').map(|name| name.trim().trim_end_matches('?')).collect();
        let (least, most) = def.arity;
        let count = least + if most == usize::MAX { self.random.below(2) } else { self.random.below(most - least + 1) };
        let first = self.any();
        let dtype = self.dtype(first);
        let mut args = Vec::new();
        for n in 0..count {
            let name = names.get(n).copied().unwrap_or("x");
            let arg = if n == 0 && !name.contains("shape") && !name.starts_with('[') && name != "condition" {
                Arg::Value(first)
            } else {
                self.table_arg(name, dtype, def.typed)
            };
            args.push(arg);
        }
        let attrs = def.attrs.iter().filter(|a| !a.ty.contains('=') || self.random.below(2) == 0);
        let attrs: Vec<&AttrDef> = attrs.collect();
        let rank = self.shape(first).len();
        let attrs = attrs.into_iter().map(|a| (a.name.to_string(), self.attribute(a, rank))).collect();
        let n = self.random.below(self.dtypes.len());
        let turbofish: Option<DType> = def.typed.then(|| self.dtypes[n]);
        OpCall { args, attrs, dtype: turbofish }
    }

    fn table_arg(&mut self, name: &str, dtype: DType, typed: bool) -> Arg {
        if name.contains("shape") {
            return Arg::Shape(self.new_shape(None));
        }
        if name.starts_with('[') {
            let parts = (0..1 + self.random.below(3)).map(|_| self.any()).collect();
            return Arg::List(parts);
        }
        if typed && name != "value" {
            return Arg::Index(self.extent());
        }
        let wanted = match name {
            "condition" => DType::Bool,
            "indices" => DType::I64,
            _ => dtype,
        };
        Arg::Value(self.any_of(wanted).unwrap_or(self.pool[0]))
    }

    /// A value for an attribute, by what it is said to take.
    fn attribute(&mut self, def: &AttrDef, rank: usize) -> AttrValue {
        let takes = def.ty.split('=').next().unwrap_or_default().trim();
        if let Some(words) = takes.strip_prefix('"') {
            let words: Vec<&str> = words.split('"').filter(|w| !w.trim().is_empty() && w.trim() != "|").collect();
            return AttrValue::Text(words[self.random.below(words.len())].to_string());
        }
        match takes {
            "bool" => AttrValue::Bool(self.chance(2)),
            "float" => AttrValue::Float([0.5, 1.0, 0.01, 2.0][self.random.below(4)]),
            "scalar" => AttrValue::Int(IntExpr::from(1)),
            "list of pairs" => AttrValue::List((0..rank).map(|_| self.numbers(2, 0, 2)).collect()),
            "list" | "int | list" if self.chance(2) => {
                let spatial = rank.saturating_sub(2);
                let count = [rank, spatial, 2 * spatial, 1 + self.random.below(2)][self.random.below(4)];
                self.numbers(count, 0, 3)
            }
            _ => AttrValue::Int(IntExpr::from(self.random.below(rank + 1) as i64 - self.random.below(2) as i64)),
        }
    }

    fn numbers(&mut self, count: usize, from: i64, to: usize) -> AttrValue {
        AttrValue::List((0..count).map(|_| AttrValue::Int((from + self.random.below(to) as i64).into())).collect())
    }
}
