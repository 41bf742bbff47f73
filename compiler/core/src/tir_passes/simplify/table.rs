//! What applies the rules of `rules` to one node whose operands are simple. It knows no rule.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use tenfold_ir::op::{BinaryOp, CmpOp, ElementOp, UnaryOp};
use tenfold_ir::relax::{binary_name, compare_name, unary_name};
use tenfold_ir::tir::{Builder, Elem, Expr, ExprId, Ty};
use tenfold_ir::{DType, Scalar};

use super::fold::{self, literal};
use super::rules::{On, RULES};

/// A side of a rule.
#[derive(Clone, Debug)]
enum Node {
    /// Any expression, by its letter.
    Name(char),
    Int(i64),
    Bool(bool),
    Apply(Head, Vec<Node>),
}

/// An operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Head {
    Unary(UnaryOp),
    Binary(BinaryOp),
    Compare(CmpOp),
    /// `if` or `select`.
    Choose,
}

impl Head {
    fn named(word: &str) -> Option<Head> {
        if word == "choose" {
            return Some(Head::Choose);
        }
        ElementOp::plain().find_map(|op| match op {
            ElementOp::Unary(op) if unary_name(op) == word => Some(Head::Unary(op)),
            ElementOp::Binary(op) if binary_name(op) == word => Some(Head::Binary(op)),
            ElementOp::Compare(op) if compare_name(op) == word => Some(Head::Compare(op)),
            _ => None,
        })
    }

    fn word(self) -> &'static str {
        match self {
            Head::Unary(op) => unary_name(op),
            Head::Binary(op) => binary_name(op),
            Head::Compare(op) => compare_name(op),
            Head::Choose => "choose",
        }
    }

    /// Of a node, with its operands; `None` for those that no rule is about.
    fn of(expr: &Expr) -> Option<(Head, Vec<ExprId>)> {
        match *expr {
            Expr::Unary(op, x) => Some((Head::Unary(op), vec![x])),
            Expr::Binary(op, x, y) => Some((Head::Binary(op), vec![x, y])),
            Expr::Compare(op, x, y) => Some((Head::Compare(op), vec![x, y])),
            Expr::If(c, x, y) | Expr::Select(c, x, y) => Some((Head::Choose, vec![c, x, y])),
            Expr::Const(_)
            | Expr::Index(_)
            | Expr::Var(_)
            | Expr::Load { .. }
            | Expr::Cast(..)
            | Expr::Call(..)
            | Expr::Ramp(..)
            | Expr::Broadcast(..)
            | Expr::Shuffle(..) => None,
        }
    }

    /// The node on other operands; a choice is lazy where the one that it stands for is.
    fn on(self, operands: &[ExprId], lazy: bool) -> Option<Expr> {
        Some(match (self, operands) {
            (Head::Unary(op), [x]) => Expr::Unary(op, *x),
            (Head::Binary(op), [x, y]) => Expr::Binary(op, *x, *y),
            (Head::Compare(op), [x, y]) => Expr::Compare(op, *x, *y),
            (Head::Choose, [c, x, y]) if lazy => Expr::If(*c, *x, *y),
            (Head::Choose, [c, x, y]) => Expr::Select(*c, *x, *y),
            (Head::Unary(_) | Head::Binary(_) | Head::Compare(_) | Head::Choose, _) => return None,
        })
    }

    /// Whether the operands may change places.
    fn commutes(self) -> bool {
        use BinaryOp::{Add, And, Max, Min, Mul, Or, Xor};
        matches!(self, Head::Binary(Add | Mul | Min | Max | And | Or | Xor) | Head::Compare(CmpOp::Eq | CmpOp::Ne))
    }
}

/// Reads `name(part, part)`, a letter or a literal.
fn read(text: &str) -> Option<Node> {
    let (node, rest) = part(text)?;
    rest.is_empty().then_some(node)
}

fn part(text: &str) -> Option<(Node, &str)> {
    let text = text.trim_start();
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    let (word, mut rest) = text.split_at(end);
    let Some(inside) = rest.strip_prefix('(') else { return Some((leaf(word)?, rest)) };
    rest = inside;
    let mut parts = Vec::new();
    loop {
        let (node, behind) = part(rest)?;
        parts.push(node);
        match behind.strip_prefix(',') {
            Some(behind) => rest = behind,
            None => return Some((Node::Apply(Head::named(word)?, parts), behind.strip_prefix(')')?)),
        }
    }
}

fn leaf(word: &str) -> Option<Node> {
    match word {
        "true" | "false" => Some(Node::Bool(word == "true")),
        _ if word.len() == 1 && word.as_bytes()[0].is_ascii_lowercase() => word.chars().next().map(Node::Name),
        _ => word.parse().ok().map(Node::Int),
    }
}

struct Row {
    from: Vec<Node>,
    head: Head,
    to: Node,
    on: On,
    /// Whether a literal stands in what it makes, which is a scalar.
    literal: bool,
}

/// The rows by the word of their head, in the order of the table.
fn rows() -> &'static BTreeMap<&'static str, Vec<Row>> {
    static ROWS: OnceLock<BTreeMap<&'static str, Vec<Row>>> = OnceLock::new();
    ROWS.get_or_init(|| {
        let mut rows: BTreeMap<&'static str, Vec<Row>> = BTreeMap::new();
        for rule in RULES {
            // A test reads every row.
            let (Some(Node::Apply(head, from)), Some(to)) = (read(rule.from), read(rule.to)) else { continue };
            rows.entry(head.word()).or_default().push(Row { from, head, literal: has_literal(&to), to, on: rule.on });
        }
        rows
    })
}

/// What the letters of a rule stand for.
type Caught = Vec<(char, ExprId)>;

/// What a rule makes of a node; of operands that were simple, it is simple.
pub(super) fn apply(b: &mut Builder, expr: &Expr, ty: Ty) -> Option<ExprId> {
    let (head, operands) = Head::of(expr)?;
    for row in rows().get(head.word())? {
        let mut caught = Caught::new();
        let fits = takes(row.on, row.head, b.ty(operands[usize::from(row.head == Head::Choose)]).elem)
            && fit(b, row.head, &row.from, &operands, &mut caught)
            && (!row.literal || operands.iter().all(|id| b.ty(*id).lanes == 1));
        if fits {
            return make(b, &row.to, &caught, (expr, ty));
        }
    }
    None
}

/// Whether a rule holds for a type: of comparisons and arithmetic that of the operands, of choices that of what is
/// chosen.
fn takes(on: On, head: Head, elem: Elem) -> bool {
    // What compares two values says itself what it is about.
    let dtype = match elem {
        Elem::Index => return matches!(on, On::Any | On::Int | On::Exact),
        Elem::Scalar(dtype) => dtype,
    };
    match on {
        On::Any => true,
        On::Int => dtype.is_int() || matches!(head, Head::Unary(UnaryOp::Not)) && dtype.is_bool(),
        On::Unsigned => matches!(dtype, DType::U8 | DType::U16 | DType::U32 | DType::U64),
        On::Bool => dtype.is_bool(),
        On::Exact => !dtype.is_float(),
    }
}

fn fit(b: &Builder, head: Head, parts: &[Node], operands: &[ExprId], caught: &mut Caught) -> bool {
    let known = caught.len();
    let mut all = |order: &[ExprId]| {
        let fits = parts.iter().zip(order).all(|(part, operand)| matches(b, part, *operand, caught));
        if !fits {
            caught.truncate(known);
        }
        fits
    };
    match operands {
        [x, y] if head.commutes() => all(&[*x, *y]) || all(&[*y, *x]),
        operands => all(operands),
    }
}

fn matches(b: &Builder, node: &Node, id: ExprId, caught: &mut Caught) -> bool {
    match node {
        Node::Name(name) => match caught.iter().find(|(it, _)| it == name) {
            Some((_, known)) => *known == id,
            None => {
                caught.push((*name, id));
                true
            }
        },
        Node::Int(n) => literal(b, id).is_some_and(|s| !s.dtype.is_bool() && s.to_i128() == i128::from(*n)),
        Node::Bool(value) => literal(b, id) == Some(Scalar::bool(*value)),
        Node::Apply(head, parts) => {
            let found = Head::of(b.func().exprs.get(id)).filter(|(it, _)| it == head);
            found.is_some_and(|(head, operands)| exact(b, head, &operands) && fit(b, head, parts, &operands, caught))
        }
    }
}

/// Rules about the operands of comparisons inside hold for what is no float; equality alone is the same for all.
fn exact(b: &Builder, head: Head, operands: &[ExprId]) -> bool {
    match head {
        Head::Compare(CmpOp::Eq | CmpOp::Ne) | Head::Choose => true,
        Head::Compare(_) | Head::Unary(_) | Head::Binary(_) => {
            !matches!(b.ty(operands[0]).elem, Elem::Scalar(dtype) if dtype.is_float())
        }
    }
}

/// The other side; its outermost node has the type of the node that it stands for.
fn make(b: &mut Builder, node: &Node, caught: &Caught, (root, ty): (&Expr, Ty)) -> Option<ExprId> {
    let named = |name: &char| caught.iter().find(|(it, _)| it == name).map(|(_, id)| *id);
    match node {
        Node::Name(name) => named(name),
        Node::Int(n) => Some(fold::number(b, ty.elem, *n)),
        Node::Bool(value) => Some(b.scalar(Scalar::bool(*value))),
        Node::Apply(head, parts) => {
            // A number beside an operand is of its type.
            let beside = parts.iter().find_map(|part| if let Node::Name(name) = part { named(name) } else { None });
            let of = beside.map_or(ty, |id| b.ty(id));
            let ids = parts.iter().map(|part| make(b, part, caught, (root, of))).collect::<Option<Vec<ExprId>>>()?;
            let expr = head.on(&ids, matches!(root, Expr::If(..)))?;
            Some(fold::expr(b, expr, ty))
        }
    }
}

fn has_literal(node: &Node) -> bool {
    match node {
        Node::Name(_) => false,
        Node::Int(_) | Node::Bool(_) => true,
        Node::Apply(_, parts) => parts.iter().any(has_literal),
    }
}

#[cfg(test)]
mod tests;
