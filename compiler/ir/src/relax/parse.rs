//! Parsing of what [`super::print_function`] writes. One statement per line; `// …` is a comment.
//!
//! The parser checks form only: laws and types are the verifier's, so that tests may hold broken functions.

use std::collections::BTreeMap;

use super::parse_op::parse_op;
use super::{
    Binding, BindingBlock, BlockKind, FactDecl, Function, Param, ParamKind, Phase, Place, Plan, PoolInfo, Region,
    SymDecl, SymKind, TensorType, Type, ValueData, ValueId,
};
use crate::arith::{Fact, IntExpr, Sym};
use crate::text::{ParseError, Wrong, bracketed, quoted, split, split_once, strip};
use crate::{ConstId, DType, Loc};

/// Reads one function.
pub fn parse_function(text: &str) -> Result<Function, ParseError> {
    let mut parser = Parser::default();
    for (number, line) in text.lines().enumerate() {
        parser.line = number + 1;
        let statement = strip(line);
        if !statement.is_empty() {
            parser.statement(statement).map_err(|wrong| ParseError::of_line(number + 1, line, wrong))?;
        }
    }
    parser.finish()
}

/// Where the parser stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Where {
    #[default]
    Before,
    Function,
    Block,
    /// Between the regions of a binding.
    Regions,
    /// In a region, outside its blocks.
    Region,
    Plan,
    After,
}

/// Regions in regions stop here: what walks over them recurses.
const DEEPEST: usize = 64;

#[derive(Default)]
struct Parser {
    line: usize,
    at: Where,
    func: Option<Function>,
    values: BTreeMap<ValueId, ValueData>,
    /// Bindings whose regions are open, each with the region being read, outermost first.
    open: Vec<(Binding, Region)>,
}

type Parsed<T> = Result<T, Wrong>;

impl Parser {
    fn finish(self) -> Result<Function, ParseError> {
        let fail = |message: String| ParseError { line: self.line.max(1), column: 0, message };
        let Some(mut func) = self.func else { return Err(fail("expected `relax @name`, found the end".into())) };
        if self.at != Where::After {
            return Err(fail("expected `}`, found the end".into()));
        }
        // A number that nothing defines (a pass removed its binding) stands for a value without type.
        let end = self.values.keys().next_back().map_or(0, |last| last.0.saturating_add(1));
        if end as usize > 2 * self.values.len() + 1000 {
            return Err(fail(format!("v{} is far beyond the number of values", end - 1)));
        }
        let hole = || ValueData { ty: Type::Tuple(Vec::new()), name: String::new(), loc: Loc::default(), range: None };
        func.values = (0..end).map(|id| self.values.get(&ValueId(id)).cloned().unwrap_or_else(hole)).collect();
        Ok(func)
    }

    fn statement(&mut self, line: &str) -> Parsed<()> {
        match self.at {
            Where::Before => self.header(line),
            Where::Function => self.item(line),
            Where::Block if line == "}" && self.open.is_empty() => self.close(Where::Function),
            Where::Block if line == "}" => self.close(Where::Region),
            Where::Regions => self.between_regions(line),
            Where::Region => self.in_region(line),
            Where::Block => self.binding(line),
            Where::Plan if line == "}" => self.close(Where::Function),
            Where::Plan => self.plan(line),
            Where::After => Err(Wrong::found("the end", line)),
        }
    }

    fn close(&mut self, to: Where) -> Parsed<()> {
        self.at = to;
        Ok(())
    }

    fn func(&mut self) -> Parsed<&mut Function> {
        self.func.as_mut().ok_or_else(|| "expected `relax @name`".into())
    }

    fn header(&mut self, line: &str) -> Parsed<()> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let wrong = || Wrong::found("`relax @name phase imported {`", line);
        let ["relax", name, "phase", phase, flags @ .., "{"] = words.as_slice() else { return Err(wrong()) };
        if flags.iter().any(|f| !["primitive", "skip_optimization"].contains(f)) {
            return Err(wrong());
        }
        let name = name.strip_prefix('@').ok_or_else(|| Wrong::found("`@name`", name))?;
        self.func = Some(Function {
            name: name.to_string(),
            syms: Vec::new(),
            facts: Vec::new(),
            params: Vec::new(),
            values: Vec::new(),
            blocks: Vec::new(),
            results: Vec::new(),
            primitive: flags.contains(&"primitive"),
            phase: phase_of(phase)?,
            skip_optimization: flags.contains(&"skip_optimization"),
            pools: Vec::new(),
            plan: None,
        });
        self.close(Where::Function)
    }

    fn item(&mut self, line: &str) -> Parsed<()> {
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        match word {
            "sym" => self.sym(rest),
            "pool" => self.pool(rest),
            "fact" => self.fact(rest),
            "param" => self.param(rest),
            "dataflow" if rest == "{" => self.block(BlockKind::Dataflow),
            "effect" if rest == "{" => self.block(BlockKind::Effect),
            "return" => {
                self.func()?.results = split(rest, ',').into_iter().map(value_id).collect::<Parsed<_>>()?;
                Ok(())
            }
            "plan" if rest == "{" => {
                self.func()?.plan = Some(Plan::default());
                self.close(Where::Plan)
            }
            "}" => self.close(Where::After),
            _ => Err(Wrong::found("a statement of a function", line)),
        }
    }

    fn block(&mut self, kind: BlockKind) -> Parsed<()> {
        self.blocks()?.push(BindingBlock { kind, bindings: Vec::new() });
        self.close(Where::Block)
    }

    /// The blocks that are being read: of the innermost region, else of the function.
    fn blocks(&mut self) -> Parsed<&mut Vec<BindingBlock>> {
        match self.open.last_mut() {
            Some((_, region)) => Ok(&mut region.blocks),
            None => match &mut self.func {
                Some(func) => Ok(&mut func.blocks),
                None => Err("expected `relax @name`".into()),
            },
        }
    }

    fn between_regions(&mut self, line: &str) -> Parsed<()> {
        match line {
            "region {" => self.close(Where::Region),
            "}" => {
                let (binding, _) = self.open.pop().ok_or("expected a binding with regions")?;
                self.bind(binding)?;
                self.close(Where::Block)
            }
            _ => Err(Wrong::found("`region {` or `}`", line)),
        }
    }

    fn in_region(&mut self, line: &str) -> Parsed<()> {
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        match word {
            "param" => {
                let (id, ty) = split_once(rest, ":").ok_or_else(|| Wrong::found("`v0: type`", rest))?;
                let (ty, tail) = ty.split_at(type_end(ty));
                let id = value_id(id)?;
                self.value(id, type_of(ty.trim())?, tail.trim())?;
                self.region()?.params.push(id);
                Ok(())
            }
            "dataflow" if rest == "{" => self.block(BlockKind::Dataflow),
            "effect" if rest == "{" => self.block(BlockKind::Effect),
            "yield" => {
                self.region()?.results = split(rest, ',').into_iter().map(value_id).collect::<Parsed<_>>()?;
                Ok(())
            }
            "}" => {
                if let Some((binding, region)) = self.open.last_mut() {
                    binding.regions.push(std::mem::take(region));
                }
                self.close(Where::Regions)
            }
            _ => Err(Wrong::found("a statement of a region", line)),
        }
    }

    fn region(&mut self) -> Parsed<&mut Region> {
        self.open.last_mut().map(|(_, region)| region).ok_or_else(|| "expected a region".into())
    }

    fn bind(&mut self, binding: Binding) -> Parsed<()> {
        match self.blocks()?.last_mut() {
            Some(block) => block.bindings.push(binding),
            None => return Err("expected a block around the binding".into()),
        }
        Ok(())
    }

    fn sym(&mut self, text: &str) -> Parsed<()> {
        let (text, loc) = trailing_loc(text)?;
        let (name, kind) = split_once(text, ":").ok_or_else(|| Wrong::found("`N: dim 0 0`", text))?;
        let words: Vec<&str> = kind.split_whitespace().collect();
        let kind = match words.as_slice() {
            ["dim", param, axis] => SymKind::Dim { param: number(param)?, axis: number(axis)? },
            ["index", param, "unsigned"] => SymKind::IndexParam { param: number(param)?, unsigned: true },
            ["index", param, "signed"] => SymKind::IndexParam { param: number(param)?, unsigned: false },
            ["stride", param, axis] => SymKind::Stride { param: number(param)?, axis: number(axis)? },
            ["bound", value] => SymKind::Bound(value_id(value)?),
            ["loop", value] => SymKind::Loop(value_id(value)?),
            _ => return Err(Wrong::found("a kind of symbol", kind)),
        };
        self.func()?.syms.push(SymDecl { sym: Sym::new(name), kind, loc });
        Ok(())
    }

    fn pool(&mut self, text: &str) -> Parsed<()> {
        let (text, loc) = trailing_loc(text)?;
        let (name, bytes) = split_once(text, ":").ok_or_else(|| Wrong::found("`name: bytes`", text))?;
        let pool = PoolInfo { name: name.to_string(), bytes: number(bytes)?, loc };
        self.func()?.pools.push(pool);
        Ok(())
    }

    fn fact(&mut self, text: &str) -> Parsed<()> {
        let (text, loc) = trailing_loc(text)?;
        let quote = text.find('"').unwrap_or(text.len());
        let fact = fact_of(text[..quote].trim())?;
        let text = if quote < text.len() {
            quoted(&text[quote..]).ok_or_else(|| Wrong::found("a text in quotes", &text[quote..]))?.0
        } else {
            String::new()
        };
        self.func()?.facts.push(FactDecl { fact, text, loc });
        Ok(())
    }

    fn param(&mut self, text: &str) -> Parsed<()> {
        let (id, ty, rest) = definition(text)?;
        let mut words = rest.splitn(3, char::is_whitespace);
        let kind = match words.next() {
            Some("input") => ParamKind::Input,
            Some("strided") => ParamKind::Strided,
            Some("state") => ParamKind::State,
            Some("scalar") => ParamKind::Scalar,
            other => return Err(Wrong::found("a kind of parameter", other.unwrap_or(""))),
        };
        let position = number(words.next().unwrap_or(""))?;
        self.value(id, ty, words.next().unwrap_or("").trim())?;
        self.func()?.params.push(Param { value: id, kind, position });
        Ok(())
    }

    fn binding(&mut self, line: &str) -> Parsed<()> {
        let (out, ty, call) = definition(line)?;
        let open = call.find('(').ok_or_else(|| Wrong::found("`op(…)`", call))?;
        let (items, tail) =
            bracketed(&call[open..], '(', ')').ok_or_else(|| Wrong::at(&call[open..], "expected `)`"))?;
        let mut args = Vec::new();
        let mut attrs = BTreeMap::new();
        for item in split(items, ',') {
            match split_once(item, " = ") {
                Some((name, value)) => {
                    attrs.insert(name, value);
                }
                None => args.push(value_id(item)?),
            }
        }
        let op = parse_op(call[..open].trim(), attrs, &ty)?;
        let inner = tail.strip_suffix('{');
        self.value(out, ty, inner.unwrap_or(tail).trim())?;
        let binding = Binding::new(out, op, args);
        if inner.is_none() {
            return self.bind(binding);
        }
        if self.open.len() == DEEPEST {
            return Err(format!("regions nest more than {DEEPEST} deep").into());
        }
        self.open.push((binding, Region::default()));
        self.close(Where::Regions)
    }

    /// Records a value with its type and what follows its definition: `"name" range(lo, hi) at 0:3`.
    fn value(&mut self, id: ValueId, ty: Type, tail: &str) -> Parsed<()> {
        let (mut tail, loc) = trailing_loc(tail)?;
        let mut name = String::new();
        if tail.starts_with('"') {
            (name, tail) = quoted(tail).ok_or_else(|| Wrong::found("a name in quotes", tail))?;
        }
        let mut range = None;
        if let Some(rest) = tail.strip_prefix("range") {
            let (inner, after) =
                bracketed(rest.trim(), '(', ')').ok_or_else(|| Wrong::found("`range(lo, hi)`", tail))?;
            let [lo, hi] = split(inner, ',')[..] else { return Err(Wrong::found("`range(lo, hi)`", tail)) };
            range = Some((int(lo)?, int(hi)?));
            tail = after;
        }
        if !tail.is_empty() {
            return Err(Wrong::found("the end of the line", tail));
        }
        match self.values.insert(id, ValueData { ty, name, loc, range }) {
            None => Ok(()),
            Some(_) => Err(format!("v{} is defined twice", id.0).into()),
        }
    }

    fn plan(&mut self, line: &str) -> Parsed<()> {
        let (left, right) = split_once(line, " = ").ok_or_else(|| Wrong::found("`v0 = place`", line))?;
        let plan = self.func()?.plan.get_or_insert_default();
        match left {
            "workspace" => plan.workspace = Some(int(right)?),
            "workspace_bound" => plan.workspace_bound = Some(number(right)?),
            "pools" => {
                let (all, _) = bracketed(right, '[', ']').ok_or_else(|| Wrong::found("`[bytes, …]`", right))?;
                plan.pools = split(all, ',').into_iter().map(number).collect::<Parsed<_>>()?;
            }
            value => {
                let id = value_id(value)?;
                if let Some((inner, _)) = bracketed(right, '(', ')') {
                    let places = split(inner, ',').into_iter().map(place).collect::<Parsed<_>>()?;
                    plan.tuples.insert(id, places);
                } else {
                    let at = id.0 as usize;
                    if at > 1 << 24 {
                        return Err(Wrong::found("a value", value));
                    }
                    if plan.places.len() <= at {
                        plan.places.resize(at + 1, None);
                    }
                    plan.places[at] = Some(place(right)?);
                }
            }
        }
        Ok(())
    }
}

fn phase_of(word: &str) -> Parsed<Phase> {
    match word {
        "imported" => Ok(Phase::Imported),
        "normalised" => Ok(Phase::Normalised),
        "materialised" => Ok(Phase::Materialised),
        "legalised" => Ok(Phase::Legalised),
        "planned" => Ok(Phase::Planned),
        other => Err(Wrong::found("a phase", other)),
    }
}

fn place(text: &str) -> Parsed<Place> {
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    match word {
        "param" => Ok(Place::Param(number(rest)?)),
        "result" => Ok(Place::Result(number(rest)?)),
        "const" => Ok(Place::Const(const_id(rest)?)),
        "none" => Ok(Place::None),
        "workspace" => match ints(rest)?.as_slice() {
            [offset, bytes] => Ok(Place::Workspace { offset: offset.clone(), bytes: bytes.clone() }),
            _ => Err(Wrong::found("`workspace [offset, bytes]`", text)),
        },
        _ => Err(Wrong::found("a place", text)),
    }
}

/// `v7: type = rest`
fn definition(text: &str) -> Parsed<(ValueId, Type, &str)> {
    let (left, rest) = split_once(text, " = ").ok_or_else(|| Wrong::found("`v0: type = …`", text))?;
    let (id, ty) = split_once(left, ":").ok_or_else(|| Wrong::found("`v0: type`", left))?;
    Ok((value_id(id)?, type_of(ty)?, rest))
}

/// `text at 0:3`, or without a place.
fn trailing_loc(text: &str) -> Parsed<(&str, Loc)> {
    let split = if let Some(rest) = text.strip_prefix("at ") { Some(("", rest)) } else { text.rsplit_once(" at ") };
    // ` at ` may also stand inside a quoted name, and a symbol may be called so.
    let is_place = |loc: &str| loc.starts_with(|c: char| c.is_ascii_digit()) && !loc.contains('"');
    let Some((before, loc)) = split.filter(|(_, loc)| is_place(loc)) else { return Ok((text, Loc::default())) };
    let (function, node) = loc.split_once(':').ok_or_else(|| Wrong::found("`function:node`", loc))?;
    Ok((before.trim(), Loc { function: number(function)?, node: number(node)? }))
}

/// Where the type that `text` begins with ends.
fn type_end(text: &str) -> usize {
    let mut depth = 0usize;
    let begin = text.len() - text.trim_start().len();
    let end = text[begin..].char_indices().find(|(_, c)| {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && (c.is_whitespace() || *c == '"')
    });
    end.map_or(text.len(), |(at, _)| begin + at)
}

/// Reads a type.
pub fn parse_type(text: &str) -> Result<Type, ParseError> {
    type_of(text).map_err(|wrong| ParseError::of_line(1, text, wrong))
}

fn type_of(text: &str) -> Parsed<Type> {
    if let Some(rank) = text.strip_prefix("shape").and_then(|rest| bracketed(rest, '(', ')')) {
        return match rank {
            (rank, "") => Ok(Type::Shape(number(rank)?)),
            (_, rest) => Err(Wrong::found("the end of the type", rest)),
        };
    }
    if let Some((inner, rest)) = bracketed(text, '(', ')') {
        if !rest.is_empty() {
            return Err(Wrong::found("the end of the type", rest));
        }
        return Ok(Type::Tuple(split(inner, ',').into_iter().map(type_of).collect::<Parsed<_>>()?));
    }
    let open = text.find('[').unwrap_or(text.len());
    let name = text[..open].trim();
    let dtype = DType::from_any_name(name).ok_or_else(|| Wrong::found("a dtype", name))?;
    let shape = if open < text.len() { ints(&text[open..])? } else { Vec::new() };
    Ok(Type::Tensor(TensorType { dtype, shape }))
}

/// `[a, b]` as integer expressions.
pub(super) fn ints(text: &str) -> Parsed<Vec<IntExpr>> {
    match bracketed(text, '[', ']') {
        Some((inner, "")) => split(inner, ',').into_iter().map(int).collect(),
        Some(_) | None => Err(Wrong::found("a list in brackets", text)),
    }
}

/// An integer expression.
pub(super) fn int(text: &str) -> Parsed<IntExpr> {
    IntExpr::parse(text).map_err(|message| Wrong::at(text, message))
}

/// A fact.
fn fact_of(text: &str) -> Parsed<Fact> {
    Fact::parse(text).map_err(|message| Wrong::at(text, message))
}

/// A number in decimal.
pub(super) fn number<T: std::str::FromStr>(text: &str) -> Parsed<T> {
    text.trim().parse().map_err(|_| Wrong::found("a number", text))
}

/// `v7`
fn value_id(text: &str) -> Parsed<ValueId> {
    let digits = text.strip_prefix('v').ok_or_else(|| Wrong::found("a value", text))?;
    Ok(ValueId(number(digits)?))
}

/// `c3`
pub(super) fn const_id(text: &str) -> Parsed<ConstId> {
    let digits = text.trim().strip_prefix('c').ok_or_else(|| Wrong::found("a constant", text))?;
    Ok(ConstId(number(digits)?))
}
