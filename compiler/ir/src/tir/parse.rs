//! Reads what `print.rs` writes. The grammar stands in `compiler/docs/tir.md`; laws are the verifier's business.
//!
//! One statement stands on one line; braces open at a line's end. Variables and buffers are numbered in the order in
//! which the text names them.

use std::cell::Cell;
use std::collections::BTreeMap;

use super::annotation_text::{annotations, pattern, string};
use super::parse_expr::{Exprs, parse_ty};
use super::print::{LOOP_KINDS, SCOPES, loop_name, phase_name, scope_name};
use super::{
    Access, Annotation, Barrier, Block, BufId, BufUse, BufferData, CallArg, ExprId, FuncKind, IterKind, IterVar,
    Launch, LoopKind, MatchBuffer, Param, Phase, PrimFunc, Region, Scope, Stmt, Ty, VarData, VarId,
};
use crate::arith::{Fact, IntExpr, Sym};
use crate::text::{ParseError, bracketed, column, split, split_once, strip};
use crate::{ConstId, DType, Loc, Module};

pub(super) type Parsed<T> = Result<T, String>;

/// Reads the functions of a text; constants are those of `module`, found by their hashes.
pub fn parse(module: &Module, text: &str) -> Result<Vec<PrimFunc>, ParseError> {
    let raw: Vec<&str> = text.lines().collect();
    let numbered = raw.iter().enumerate().map(|(n, line)| (n + 1, strip(line)));
    let lines: Vec<(usize, &str)> = numbered.filter(|(_, line)| !line.is_empty()).collect();
    let mut funcs = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let mut parser = Parser::new(module, &lines, at);
        let result = parser.function();
        let line = lines.get(parser.at.min(lines.len() - 1)).map_or(0, |(n, _)| *n);
        let column = raw.get(line.wrapping_sub(1)).map_or(0, |raw| column(raw, parser.mark.get()));
        result.map_err(|message| ParseError { line, column, message })?;
        at = parser.at;
        funcs.push(parser.func);
    }
    Ok(funcs)
}

pub(super) struct Parser<'t> {
    module: &'t Module,
    lines: &'t [(usize, &'t str)],
    at: usize,
    depth: u32,
    pub func: PrimFunc,
    pub vars: BTreeMap<String, VarId>,
    pub buffers: BTreeMap<String, BufId>,
    /// What `%n` stands for.
    pub defined: BTreeMap<u32, ExprId>,
    /// The address of what is read now, which an error is about.
    pub mark: Cell<usize>,
}

/// Statements inside statements.
const DEPTH: u32 = 200;

impl<'t> Parser<'t> {
    fn new(module: &'t Module, lines: &'t [(usize, &'t str)], at: usize) -> Self {
        let func = PrimFunc::new("");
        let (vars, buffers, defined) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Parser { module, lines, at, depth: 0, func, vars, buffers, defined, mark: Cell::new(0) }
    }

    fn peek(&self) -> Parsed<&'t str> {
        self.lines.get(self.at).map(|(_, line)| *line).ok_or_else(|| "expected `}`, found the end".to_string())
    }

    /// The rest of the line that begins with `word`, which is then read.
    fn take(&mut self, word: &str) -> Option<&'t str> {
        let rest = self.peek().ok()?.strip_prefix(word)?;
        if !rest.is_empty() && !rest.starts_with(' ') && word != "}" {
            return None;
        }
        self.at += 1;
        Some(rest.trim())
    }

    fn function(&mut self) -> Parsed<()> {
        let line = self.peek()?;
        let head = line.strip_prefix("prim @").and_then(|l| l.strip_suffix('{'));
        let head = head.ok_or_else(|| format!("expected `prim @name(…) … {{`, found `{line}`"))?;
        let open = head.find('(').ok_or("expected `(` after the function's name")?;
        self.func.name = head[..open].trim().to_string();
        let (params, flags) = bracketed(&head[open..], '(', ')').ok_or("expected `)` after the parameters")?;
        for param in split(params, ',') {
            self.param(param)?;
        }
        self.flags(flags)?;
        self.at += 1;
        if let Some(pools) = self.take("pools") {
            self.at -= 1;
            self.look(pools);
            let bytes = |text: &str| text.trim().parse().map_err(|_| format!("expected bytes, found `{text}`"));
            self.func.pools = pools.split(',').map(bytes).collect::<Parsed<_>>()?;
            self.at += 1;
        }
        while let Some(fact) = self.take("fact") {
            self.at -= 1;
            self.look(fact);
            self.func.facts.push(Fact::parse(fact)?);
            self.at += 1;
        }
        while let Some(rest) = self.take("buffer") {
            self.at -= 1;
            self.buffer(rest, None)?;
            self.at += 1;
        }
        self.func.body = self.body()?;
        Ok(())
    }

    fn flags(&mut self, flags: &str) -> Parsed<()> {
        let mut words = flags.split_whitespace();
        while let Some(word) = words.next() {
            self.mark.set(word.as_ptr() as usize);
            let mut value = || words.next().ok_or_else(|| format!("expected a word after `{word}`"));
            match word {
                "phase" => self.func.phase = phase(value()?)?,
                "exported" => self.func.exported = true,
                "strict" => self.func.strict = true,
                "pattern" => self.func.pattern = Some(pattern(value()?)?),
                "device" => self.func.kind = FuncKind::Device,
                "extern" => self.func.kind = FuncKind::Extern,
                "skip_optimization" => self.func.skip_optimization = true,
                "at" => self.func.loc = loc(value()?)?,
                _ => return Err(format!("expected a flag of the function, found `{word}`")),
            }
        }
        Ok(())
    }

    fn param(&mut self, text: &str) -> Parsed<()> {
        self.look(text);
        if text == "workspace" {
            self.func.params.push(Param::Workspace);
            return Ok(());
        }
        for (word, usage) in [("in ", BufUse::In), ("out ", BufUse::Out), ("inout ", BufUse::InOut)] {
            if let Some(rest) = text.strip_prefix(word) {
                let buf = self.buffer(rest, Some(Scope::Param))?;
                self.func.params.push(Param::Buffer(buf, usage));
                return Ok(());
            }
        }
        let (name, ty) = split_once(text, ":").ok_or_else(|| format!("expected `name: type`, found `{text}`"))?;
        let var = self.declare(name, parse_ty(ty)?);
        self.func.params.push(Param::Value(var));
        Ok(())
    }

    fn declare(&mut self, name: &str, ty: Ty) -> VarId {
        let id = VarId(self.func.vars.len() as u32);
        self.func.vars.push(VarData { sym: Sym::new(name), ty });
        self.vars.insert(name.to_string(), id);
        id
    }

    /// `x: f32[N, 4] strides [s, 1] in 0..N global offset 64`.
    fn buffer(&mut self, text: &str, scope: Option<Scope>) -> Parsed<BufId> {
        self.look(text);
        let (name, rest) = split_once(text, ":").ok_or_else(|| format!("expected `name: type`, found `{text}`"))?;
        let open = rest.find('[').ok_or_else(|| format!("expected `dtype[shape]`, found `{rest}`"))?;
        let dtype = dtype(rest[..open].trim())?;
        let (shape, mut rest) = bracketed(&rest[open..], '[', ']').ok_or("expected `]`")?;
        let shape = ints(shape)?;
        let mut strides = None;
        if let Some(tail) = rest.strip_prefix("strides") {
            let (list, tail) = bracketed(tail.trim(), '[', ']').ok_or("expected `[…]` after `strides`")?;
            strides = Some(ints(list)?);
            rest = tail;
        }
        let mut offset = None;
        if let Some((before, after)) = split_once(rest, "offset ") {
            offset = Some(IntExpr::parse(after)?);
            rest = before;
        }
        let (rest, found) = self.scope(rest)?;
        let range = match rest.strip_prefix("in ") {
            Some(range) => {
                let (lo, hi) = range.split_once("..").ok_or("expected `in lo..hi`")?;
                Some((IntExpr::parse(lo.trim())?, IntExpr::parse(hi.trim())?))
            }
            None if rest.is_empty() => None,
            None => return Err(format!("expected `in lo..hi` or a scope, found `{rest}`")),
        };
        let scope = scope.or(found).ok_or("expected `global`, `local`, `shared`, `const` or `workspace`")?;
        let id = BufId(self.func.buffers.len() as u32);
        self.buffers.insert(name.to_string(), id);
        self.func.buffers.push(BufferData { name: name.to_string(), dtype, shape, strides, scope, offset, range });
        Ok(id)
    }

    /// Cuts a scope off the end.
    fn scope<'a>(&self, text: &'a str) -> Parsed<(&'a str, Option<Scope>)> {
        for scope in SCOPES {
            if let Some(rest) = text.strip_suffix(scope_name(scope)) {
                return Ok((rest.trim(), Some(scope)));
            }
        }
        let Some((rest, hash)) = split_once(text, "const ") else { return Ok((text, None)) };
        let found = self.module.constants.iter().position(|c| c.hash == hash);
        let id = found.ok_or_else(|| format!("no constant of the module has the hash `{hash}`"))?;
        Ok((rest, Some(Scope::Const(ConstId(id as u32)))))
    }

    // Statements.

    /// Statements up to a closing brace, which is read.
    fn body(&mut self) -> Parsed<Stmt> {
        self.depth += 1;
        if self.depth > DEPTH {
            return Err(format!("statements nested deeper than {DEPTH}"));
        }
        let mut all = Vec::new();
        while self.peek()? != "}" {
            if let Some(stmt) = self.stmt()? {
                all.push(stmt);
            }
        }
        self.at += 1;
        self.depth -= 1;
        Ok(if all.len() == 1 { all.remove(0) } else { Stmt::Seq(all) })
    }

    fn boxed(&mut self) -> Parsed<Box<Stmt>> {
        self.at += 1;
        Ok(Box::new(self.body()?))
    }

    fn stmt(&mut self) -> Parsed<Option<Stmt>> {
        let line = self.peek()?;
        self.look(line);
        if line.starts_with('%') {
            return self.definition(line).map(|()| None);
        }
        let opened = line.strip_suffix('{').map(str::trim);
        let (word, rest) = opened.unwrap_or(line).split_once(' ').unwrap_or((opened.unwrap_or(line), ""));
        let rest = rest.trim();
        let stmt = match (word, opened.is_some()) {
            ("for", true) => self.for_loop(rest)?,
            ("while", true) => Stmt::While { cond: self.expr(rest)?, body: self.boxed()? },
            ("if", true) => {
                let (cond, then) = (self.expr(rest)?, self.boxed()?);
                let otherwise = if self.peek()? == "else {" { Some(self.boxed()?) } else { None };
                Stmt::If { cond, then, otherwise }
            }
            ("let", true) => {
                let (name, rest) = split_once(rest, ":").ok_or("expected `let name: type = value {`")?;
                let (ty, value) = split_once(rest, "=").ok_or("expected `let name: type = value {`")?;
                let (ty, value) = (parse_ty(ty)?, self.expr(value)?);
                Stmt::Let { var: self.declare(name, ty), value, body: self.boxed()? }
            }
            ("alloc", true) => Stmt::Alloc { buf: self.buf(rest)?, body: self.boxed()? },
            ("at", true) => Stmt::At(loc(rest)?, self.boxed()?),
            ("block", true) => self.block(rest)?,
            ("barrier", false) => self.line(|_| barrier(rest))?,
            ("assert", false) => self.line(|p| p.check(rest))?,
            ("prefetch", false) => self.line(|p| p.prefetch(rest))?,
            ("eval", false) => self.line(|p| Ok(Stmt::Evaluate(p.expr(rest)?)))?,
            ("call", false) => self.line(|p| p.call(rest))?,
            (_, false) => self.line(|p| p.store(line))?,
            (_, true) => return Err(format!("expected a statement, found `{line}`")),
        };
        Ok(Some(stmt))
    }

    /// A statement that ends with its line.
    fn line(&mut self, f: impl FnOnce(&mut Self) -> Parsed<Stmt>) -> Parsed<Stmt> {
        let stmt = f(self)?;
        self.at += 1;
        Ok(stmt)
    }

    fn definition(&mut self, line: &str) -> Parsed<()> {
        let (name, value) = split_once(line, "=").ok_or("expected `%n = expression`")?;
        let number = name[1..].parse::<u32>().map_err(|_| format!("expected `%n`, found `{name}`"))?;
        let value = self.expr(value)?;
        self.defined.insert(number, value);
        self.at += 1;
        Ok(())
    }

    fn for_loop(&mut self, rest: &str) -> Parsed<Stmt> {
        let (name, rest) = split_once(rest, " in ").ok_or("expected `for name in min +: extent kind {`")?;
        let (min, rest) = split_once(rest, "+:").ok_or("expected `+:` before the extent")?;
        let (rest, annotations) = match split_once(rest, " with ") {
            Some((rest, all)) => (rest, self.annotations(all)?),
            None => (rest, Vec::new()),
        };
        let (extent, kind) = rest.rsplit_once(' ').ok_or("expected the kind of the loop")?;
        let (min, extent) = (self.expr(min)?, self.expr(extent.trim())?);
        self.look(kind);
        let kind = loop_kind(kind)?;
        // It counts in the type of its first value.
        let narrow = self.func.exprs.ty(min) == Ty::scalar(DType::I32);
        let var = self.declare(name, if narrow { Ty::scalar(DType::I32) } else { Ty::index() });
        Ok(Stmt::For { var, min, extent, kind, annotations, body: self.boxed()? })
    }

    fn store(&mut self, line: &str) -> Parsed<Stmt> {
        let (target, value) = split_once(line, " = ").ok_or_else(|| format!("expected a statement, found `{line}`"))?;
        let (buf, index, access) = self.element(target)?;
        Ok(Stmt::Store { buf, index, value: self.expr(value)?, access })
    }

    /// `buffer[index]` and nothing behind it.
    fn element(&mut self, text: &str) -> Parsed<(BufId, Vec<ExprId>, Access)> {
        let open = text.find('[').ok_or_else(|| format!("expected `buffer[index]`, found `{text}`"))?;
        let (name, access) = access(&text[..open]);
        let (index, rest) = bracketed(&text[open..], '[', ']').ok_or("expected `]`")?;
        if !rest.is_empty() {
            return Err(format!("expected the end of `{name}[…]`, found `{rest}`"));
        }
        Ok((self.buf(name)?, self.expr_list(index)?, access))
    }

    fn prefetch(&mut self, rest: &str) -> Parsed<Stmt> {
        let (buf, index, _) = self.element(rest)?;
        Ok(Stmt::Prefetch { buf, index })
    }

    fn check(&mut self, rest: &str) -> Parsed<Stmt> {
        let (cond, text) = split_once(rest, ",").ok_or("expected `assert condition, \"text\"`")?;
        Ok(Stmt::Assert { cond: self.expr(cond)?, text: string(text)? })
    }

    fn annotations(&self, text: &str) -> Parsed<Vec<Annotation>> {
        self.look(text);
        annotations(self, text)
    }

    fn call(&mut self, rest: &str) -> Parsed<Stmt> {
        let open = rest.find('(').ok_or("expected `call @name(…)`")?;
        let name = rest[..open].strip_prefix('@').ok_or("expected `@` before the name")?;
        let (args, tail) = bracketed(&rest[open..], '(', ')').ok_or("expected `)`")?;
        let args = split(args, ',').into_iter().map(|arg| match arg.strip_prefix('&') {
            Some(buf) => Ok(CallArg::Buffer(self.buf(buf)?)),
            None => Ok(CallArg::Value(self.expr(arg)?)),
        });
        let args = args.collect::<Parsed<Vec<_>>>()?;
        let launch = if tail.is_empty() { None } else { Some(self.launch(tail)?) };
        Ok(Stmt::Call { func: name.to_string(), args, launch })
    }

    /// `launch grid [x, y, z] block [x, y, z] shared [bytes]`, or `threads [turns, work]`.
    fn launch(&mut self, text: &str) -> Parsed<Launch> {
        if let Some(list) = text.strip_prefix("threads") {
            return self.threads(list.trim());
        }
        let mut rest = text.strip_prefix("launch").ok_or_else(|| format!("expected `launch`, found `{text}`"))?.trim();
        let mut lists = Vec::new();
        for word in ["grid", "block", "shared"] {
            let after = rest.strip_prefix(word).ok_or_else(|| format!("expected `{word} […]`, found `{rest}`"))?;
            let (inside, tail) = bracketed(after.trim(), '[', ']').ok_or("expected `[…]`")?;
            lists.push(self.expr_list(inside)?);
            rest = tail;
        }
        match (&lists[0][..], &lists[1][..], &lists[2][..], rest) {
            ([a, b, c], [x, y, z], [shared], "") => {
                Ok(Launch::Grid { grid: [*a, *b, *c], block: [*x, *y, *z], shared: *shared })
            }
            _ => Err(format!("expected `launch grid [x, y, z] block [x, y, z] shared [bytes]`, found `{text}`")),
        }
    }

    fn threads(&mut self, text: &str) -> Parsed<Launch> {
        let (inside, tail) = bracketed(text, '[', ']').ok_or("expected `[…]` behind `threads`")?;
        match (&self.expr_list(inside)?[..], tail) {
            ([turns, work], "") => Ok(Launch::Threads { turns: *turns, work: *work }),
            _ => Err(format!("expected `threads [turns, work]`, found `threads {text}`")),
        }
    }

    fn block(&mut self, name: &str) -> Parsed<Stmt> {
        self.at += 1;
        let mut block = Block::new(name, Stmt::nop());
        while self.peek()? != "}" {
            let line = self.peek()?;
            self.look(line);
            let (word, rest) =
                line.split_once(' ').ok_or_else(|| format!("expected a part of a block, found `{line}`"))?;
            match word {
                "spatial" => self.iter(&mut block, IterKind::Spatial, rest)?,
                "reduce" => self.iter(&mut block, IterKind::Reduce, rest)?,
                "ordered" => self.iter(&mut block, IterKind::Ordered, rest)?,
                "reads" => block.reads.push(self.region(rest)?),
                "writes" => block.writes.push(self.region(rest)?),
                "alloc" => block.allocs.push(self.buf(rest)?),
                "match" => {
                    let (view, region) = split_once(rest, " = ").ok_or("expected `match view = buffer[…]`")?;
                    block.matches.push(MatchBuffer { view: self.buf(view)?, region: self.region(region)? });
                }
                "with" => block.annotations.extend(self.annotations(rest)?),
                "where" => block.predicate = Some(self.expr(rest)?),
                "init" => {
                    block.init = Some(*self.boxed()?);
                    continue;
                }
                "do" => {
                    block.body = *self.boxed()?;
                    continue;
                }
                _ => return Err(format!("expected a part of a block, found `{line}`")),
            }
            self.at += 1;
        }
        self.at += 1;
        Ok(Stmt::Block(Box::new(block)))
    }

    fn iter(&mut self, block: &mut Block, kind: IterKind, rest: &str) -> Parsed<()> {
        let (name, rest) = split_once(rest, " in ").ok_or("expected `name in extent = value`")?;
        let (extent, value) = split_once(rest, " = ").ok_or("expected `name in extent = value`")?;
        let (extent, value) = (self.expr(extent)?, self.expr(value)?);
        let var = self.declare(name, Ty::index());
        block.iters.push(IterVar { var, extent, kind, value });
        Ok(())
    }

    fn region(&mut self, rest: &str) -> Parsed<Region> {
        let open = rest.find('[').ok_or("expected `buffer[begin +: extent]`")?;
        let (ranges, _) = bracketed(&rest[open..], '[', ']').ok_or("expected `]`")?;
        let ranges = split(ranges, ',').into_iter().map(|range| {
            let (begin, extent) = split_once(range, "+:").ok_or("expected `begin +: extent`")?;
            Ok((self.expr(begin)?, self.expr(extent)?))
        });
        let ranges = ranges.collect::<Parsed<Vec<_>>>()?;
        Ok(Region { buf: self.buf(&rest[..open])?, ranges })
    }

    // Parts.

    /// An error from now on is about this part of the text.
    pub(super) fn look(&self, part: &str) {
        self.mark.set(part.as_ptr() as usize);
    }

    pub(super) fn buf(&self, name: &str) -> Parsed<BufId> {
        self.look(name);
        self.buffers.get(name).copied().ok_or_else(|| format!("there is no buffer `{name}`"))
    }

    fn expr(&mut self, text: &str) -> Parsed<ExprId> {
        Exprs::new(self, text).whole()
    }

    fn expr_list(&mut self, text: &str) -> Parsed<Vec<ExprId>> {
        split(text, ',').into_iter().map(|e| self.expr(e)).collect()
    }
}

/// The name of a buffer, and whether its access is vouched for by `!`.
pub(super) fn access(name: &str) -> (&str, Access) {
    match name.strip_suffix('!') {
        Some(name) => (name, Access::Unchecked),
        None => (name, Access::Proven),
    }
}

fn ints(text: &str) -> Parsed<Vec<IntExpr>> {
    split(text, ',').into_iter().map(IntExpr::parse).collect()
}

pub(super) fn dtype(name: &str) -> Parsed<DType> {
    DType::from_any_name(name).ok_or_else(|| format!("expected a dtype, found `{name}`"))
}

fn phase(word: &str) -> Parsed<Phase> {
    let all = [Phase::Blocks, Phase::Scheduled, Phase::Flat, Phase::Target];
    all.into_iter().find(|p| phase_name(*p) == word).ok_or_else(|| format!("expected a phase, found `{word}`"))
}

fn barrier(text: &str) -> Parsed<Stmt> {
    let (word, leaves) = match text.split_once(" leaves ") {
        Some((word, number)) => {
            (word, number.parse().map_err(|_| format!("expected how many barriers, found `{number}`"))?)
        }
        None => (text, 0),
    };
    let found = SCOPES.into_iter().find(|s| scope_name(*s) == word);
    let scope = found.ok_or_else(|| format!("expected a scope, found `{word}`"))?;
    Ok(Stmt::Barrier(Barrier { scope, leaves }))
}

fn loop_kind(word: &str) -> Parsed<LoopKind> {
    LOOP_KINDS
        .into_iter()
        .find(|k| loop_name(*k) == word)
        .ok_or_else(|| format!("expected a loop kind, found `{word}`"))
}

fn loc(text: &str) -> Parsed<Loc> {
    let wrong = || format!("expected `function:node`, found `{text}`");
    let (function, node) = text.split_once(':').ok_or_else(wrong)?;
    Ok(Loc { function: function.parse().map_err(|_| wrong())?, node: node.parse().map_err(|_| wrong())? })
}
