//! What the attribute prints a shim from: a Rust function that compiled code calls, and what it is passed.

use crate::ast::NodeId;
use std::fmt::Write as _;
use tenfold_ir::DType;

/// The shim of a call: an `extern "C"` function that hands views to a function of the user's crate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shim {
    /// Its symbol.
    pub symbol: String,
    /// The path in the source, whose tokens name the function; the function's own node if a pass made the call.
    pub node: NodeId,
    /// The path as text, `crate::dsp::smooth`.
    pub path: String,
    /// What is passed: operands in order, then results.
    pub args: Vec<ShimArg>,
}

/// An argument of a [`Shim`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShimArg {
    /// What may be done with it.
    pub usage: ShimUse,
    /// Its elements.
    pub dtype: DType,
    /// Extents that are the same in every call, per axis.
    pub dims: Vec<Option<u64>>,
}

/// What a function does with an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShimUse {
    /// Reads it.
    In,
    /// Reads and writes it.
    InOut,
    /// Fills it.
    Out,
}

impl ShimUse {
    const ALL: [(ShimUse, &'static str); 3] = [(ShimUse::In, "in"), (ShimUse::InOut, "inout"), (ShimUse::Out, "out")];
}

impl ShimArg {
    /// Whether the function is handed the element itself.
    pub fn by_value(&self) -> bool {
        self.usage == ShimUse::In && self.dims.is_empty()
    }
}

impl Shim {
    /// Makes one of two shims of a symbol: extents that differ are not fixed.
    pub fn merge(&mut self, other: &Shim) {
        for (ours, theirs) in self.args.iter_mut().zip(&other.args) {
            for (ours, theirs) in ours.dims.iter_mut().zip(&theirs.dims) {
                *ours = ours.filter(|_| ours == theirs);
            }
        }
    }

    /// As a line: `symbol 12 crate::dsp::smooth in:f32:?,8 out:f32:?`.
    pub fn print(&self) -> String {
        let mut line = format!("{} {} {}", self.symbol, self.node, self.path);
        for arg in &self.args {
            let word = ShimUse::ALL.iter().find(|(usage, _)| *usage == arg.usage).map_or("in", |(_, word)| word);
            let dims = arg.dims.iter().map(|dim| dim.map_or("?".into(), |n| n.to_string()));
            let _ = write!(line, " {word}:{}:{}", arg.dtype.name(), dims.collect::<Vec<_>>().join(","));
        }
        line
    }

    /// Reads a line.
    pub fn parse(line: &str) -> Option<Shim> {
        let mut words = line.split(' ');
        let (symbol, node, path) = (words.next()?, words.next()?, words.next()?);
        let args = words.map(argument).collect::<Option<Vec<_>>>()?;
        Some(Shim { symbol: symbol.into(), node: NodeId(node.parse().ok()?), path: path.into(), args })
    }
}

fn argument(text: &str) -> Option<ShimArg> {
    let mut parts = text.splitn(3, ':');
    let (word, dtype, dims) = (parts.next()?, parts.next()?, parts.next()?);
    let usage = ShimUse::ALL.iter().find(|(_, name)| *name == word)?.0;
    let dtype = DType::from_any_name(dtype)?;
    let dim = |text: &str| if text == "?" { Some(None) } else { text.parse().ok().map(Some) };
    let dims = if dims.is_empty() { Vec::new() } else { dims.split(',').map(dim).collect::<Option<_>>()? };
    Some(ShimArg { usage, dtype, dims })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shim(dims: Vec<Option<u64>>) -> Shim {
        let arg = |usage, dims: &[Option<u64>]| ShimArg { usage, dtype: DType::F32, dims: dims.to_vec() };
        Shim {
            symbol: "__tenfold_f_x3".into(),
            node: NodeId(3),
            path: "crate::dsp::smooth".into(),
            args: vec![
                arg(ShimUse::In, &dims),
                arg(ShimUse::In, &[]),
                arg(ShimUse::InOut, &dims),
                arg(ShimUse::Out, &[]),
            ],
        }
    }

    #[test]
    fn a_line_reads_back() {
        let shim = shim(vec![None, Some(8)]);
        assert_eq!(shim.print(), "__tenfold_f_x3 3 crate::dsp::smooth in:f32:?,8 in:f32: inout:f32:?,8 out:f32:");
        assert_eq!(Shim::parse(&shim.print()), Some(shim));
        assert_eq!(Shim::parse("s 1 crate::f in:f33:"), None);
        assert_eq!(Shim::parse("s 1"), None);
    }

    #[test]
    fn extents_that_differ_are_not_fixed() {
        let mut one = shim(vec![Some(4), Some(8)]);
        one.merge(&shim(vec![Some(5), Some(8)]));
        assert_eq!(one, shim(vec![None, Some(8)]));
    }
}
