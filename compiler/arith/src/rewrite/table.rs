//! The rules, read: patterns instead of texts, by the operation at their head.

use super::super::expr::IntExpr;
use super::super::fact::Fact;
use super::super::rules::{Find, Rule};
use super::super::sym::Sym;
use super::matching::Caught;
use super::pattern::{Head, Hole, Names, Operation, Part, is_constant, parts};

/// What a row looks for.
pub(super) enum Form {
    /// An operation.
    Atom(Operation),
    /// Terms of a sum, the first of them an operation; the last part is the rest of the sum.
    Sum(Vec<Part>),
}

/// A rule, read.
pub(super) struct Row {
    pub(super) form: Form,
    pub(super) to: IntExpr,
    /// Conditions, those on constants alone first.
    pub(super) when: Vec<Fact>,
    pub(super) find: Find,
    pub(super) shorter: bool,
    /// Names of `x`, of its divisor and of what is found.
    pub(super) found: Option<(Hole, Hole, Hole)>,
    /// The operations that stand at the top of the pattern, a bit each.
    pub(super) heads: u8,
    /// The name of what stands beside the terms of a sum and is no part of the rule.
    pub(super) rest: Option<Hole>,
    names: Names,
}

/// The rules of one table.
#[derive(Default)]
pub(in super::super) struct Table {
    atoms: [Vec<Row>; 6],
    sums: Vec<Row>,
}

impl Table {
    /// Reads the rules; one that cannot be read has no effect, and a test reads every one.
    pub(in super::super) fn read<'r>(rules: impl IntoIterator<Item = &'r Rule>) -> Table {
        let mut table = Table::default();
        for row in rules.into_iter().filter_map(Row::read) {
            match &row.form {
                Form::Atom(operation) => table.atoms[operation.head as usize].push(row),
                Form::Sum(_) => table.sums.push(row),
            }
        }
        table
    }

    /// The rows for an operation.
    pub(super) fn of(&self, head: Head) -> &[Row] {
        &self.atoms[head as usize]
    }

    /// The rows for sums.
    pub(super) fn sums(&self) -> &[Row] {
        &self.sums
    }

    /// How many rules it has.
    #[cfg(test)]
    pub(in super::super) fn len(&self) -> usize {
        self.sums.len() + self.atoms.iter().map(Vec::len).sum::<usize>()
    }
}

impl Row {
    fn read(rule: &Rule) -> Option<Row> {
        let (from, to) = (IntExpr::parse(rule.from).ok()?, IntExpr::parse(rule.to).ok()?);
        let mut names = Names::default();
        let (mut heads, mut rest) = (0, None);
        let form = match from.as_atom() {
            Some(atom) if !rule.shorter => Form::Atom(Operation::of(atom, &mut names)?),
            Some(_) | None => {
                let mut parts = parts(&from, &mut names)?;
                for part in &parts {
                    if let Part::Operation(_, _, operation) = part {
                        heads |= operation.head.bit();
                    }
                }
                if !matches!(parts.last(), Some(Part::Rest(_))) {
                    let hole = names.hole(&Sym::new("the rest"));
                    rest = Some(hole);
                    parts.push(Part::Rest(hole));
                }
                Form::Sum(parts)
            }
        };
        let mut hole = |name: &str| names.hole(&Sym::new(name));
        let found = match rule.find {
            Find::Nothing => None,
            Find::Quotient => Some((hole("x"), hole("c"), hole("k"))),
            Find::Residue => Some((hole("x"), hole("c"), hole("r"))),
        };
        let when = rule.when.iter().map(|text| Fact::parse(text).ok()).collect::<Option<Vec<Fact>>>()?;
        let (constants, others): (Vec<Fact>, Vec<Fact>) =
            when.into_iter().partition(|fact| fact.vars().iter().all(|sym| is_constant(sym.as_str())));
        let when = [constants, others].concat();
        Some(Row { form, to, when, find: rule.find, shorter: rule.shorter, found, heads, rest, names })
    }

    /// Names that stand for nothing yet.
    pub(super) fn nothing(&self) -> Caught {
        vec![None; self.names.0.len()]
    }

    /// What a name stands for.
    pub(super) fn value(&self, sym: &Sym, caught: &Caught) -> Option<IntExpr> {
        let at = self.names.0.iter().position(|it| it == sym)?;
        caught[at].clone()
    }
}
