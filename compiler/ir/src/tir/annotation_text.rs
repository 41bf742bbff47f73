//! Annotations, patterns and launches as text: printed and read side by side.

use super::parse::{Parsed, Parser};
use super::{AnnValue, Annotation, BufId, OpPattern};
use crate::text::{bracketed, quoted, split};

/// Every pattern with its word.
const PATTERNS: [(OpPattern, &str); 7] = [
    (OpPattern::ElementWise, "elementwise"),
    (OpPattern::Broadcast, "broadcast"),
    (OpPattern::Injective, "injective"),
    (OpPattern::CommReduce, "comm_reduce"),
    (OpPattern::OutEWiseFusable, "out_ewise_fusable"),
    (OpPattern::Tuple, "tuple"),
    (OpPattern::Opaque, "opaque"),
];

/// The word of a pattern.
pub(super) fn pattern_name(pattern: OpPattern) -> &'static str {
    PATTERNS.iter().find(|(p, _)| *p == pattern).map_or("opaque", |(_, name)| name)
}

/// The pattern of a word.
pub(super) fn pattern(word: &str) -> Parsed<OpPattern> {
    let found = PATTERNS.iter().find(|(_, name)| *name == word);
    found.map(|(p, _)| *p).ok_or_else(|| format!("expected a pattern, found `{word}`"))
}

/// A text in quotes, as [`quoted`] reads it.
pub(crate) fn quote(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => out += &format!("\\u{{{:x}}}", u32::from(c)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// An annotation, with the names of buffers given by `name`.
pub(super) fn print_annotation(annotation: &Annotation, name: &impl Fn(BufId) -> String) -> String {
    let list = |all: &[u32]| all.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
    match annotation {
        Annotation::SoftwarePipeline { stages, order } => {
            format!("software_pipeline([{}], [{}])", list(stages), list(order))
        }
        Annotation::DoubleBuffer(buf) => format!("double_buffer({})", name(*buf)),
        Annotation::StorageAlign { buf, axis, factor, offset } => {
            format!("storage_align({}, {axis}, {factor}, {offset})", name(*buf))
        }
        Annotation::PragmaUnroll { max_step, explicit } => format!("pragma_unroll({max_step}, {explicit})"),
        Annotation::LoopPartition => "loop_partition".into(),
        Annotation::Prefetch { buf, ahead } => format!("prefetch({}, {ahead})", name(*buf)),
        Annotation::PrefetchNext { buf, turns } => format!("prefetch_next({}, {turns})", name(*buf)),
        Annotation::CrossThread => "cross_thread".into(),
        Annotation::AutoParallel => "auto_parallel".into(),
        Annotation::Shared => "shared".into(),
        Annotation::AutoCopy => "auto_copy".into(),
        Annotation::MatrixTile => "matrix_tile".into(),
        Annotation::User { key, value } => match value {
            AnnValue::Int(n) => format!("user({}, {n})", quote(key)),
            AnnValue::Text(text) => format!("user({}, {})", quote(key), quote(text)),
        },
    }
}

/// A list of annotations separated by commas.
pub(super) fn annotations(parser: &Parser, text: &str) -> Parsed<Vec<Annotation>> {
    split(text, ',').into_iter().map(|one| annotation(parser, one)).collect()
}

fn annotation(parser: &Parser, text: &str) -> Parsed<Annotation> {
    let open = text.find('(').unwrap_or(text.len());
    let (name, rest) = (text[..open].trim(), &text[open..]);
    let (inside, after) = if rest.is_empty() { ("", "") } else { bracketed(rest, '(', ')').ok_or("expected `)`")? };
    if !after.is_empty() {
        return Err(format!("expected `,` between annotations, found `{after}`"));
    }
    let args = split(inside, ',');
    Ok(match (name, &args[..]) {
        ("software_pipeline", [stages, order]) => {
            Annotation::SoftwarePipeline { stages: numbers(stages)?, order: numbers(order)? }
        }
        ("double_buffer", [buf]) => Annotation::DoubleBuffer(parser.buf(buf)?),
        ("storage_align", [buf, axis, factor, offset]) => Annotation::StorageAlign {
            buf: parser.buf(buf)?,
            axis: number(axis)?,
            factor: number(factor)?,
            offset: number(offset)?,
        },
        ("pragma_unroll", [max_step, explicit]) => {
            Annotation::PragmaUnroll { max_step: number(max_step)?, explicit: number(explicit)? }
        }
        ("loop_partition", []) => Annotation::LoopPartition,
        ("prefetch", [buf, ahead]) => Annotation::Prefetch { buf: parser.buf(buf)?, ahead: number(ahead)? },
        ("prefetch_next", [buf, turns]) => Annotation::PrefetchNext { buf: parser.buf(buf)?, turns: number(turns)? },
        ("cross_thread", []) => Annotation::CrossThread,
        ("auto_parallel", []) => Annotation::AutoParallel,
        ("shared", []) => Annotation::Shared,
        ("auto_copy", []) => Annotation::AutoCopy,
        ("matrix_tile", []) => Annotation::MatrixTile,
        ("user", [key, value]) => Annotation::User { key: string(key)?, value: value_of(value)? },
        _ => return Err(format!("expected an annotation, found `{text}`")),
    })
}

fn value_of(text: &str) -> Parsed<AnnValue> {
    if text.starts_with('"') { string(text).map(AnnValue::Text) } else { number(text).map(AnnValue::Int) }
}

/// A text in quotes and nothing behind it.
pub(super) fn string(text: &str) -> Parsed<String> {
    match quoted(text) {
        Some((value, "")) => Ok(value),
        Some(_) | None => Err(format!("expected a text in quotes, found `{text}`")),
    }
}

fn number<T: std::str::FromStr>(text: &str) -> Parsed<T> {
    text.parse().map_err(|_| format!("expected a value, found `{text}`"))
}

fn numbers(text: &str) -> Parsed<Vec<u32>> {
    let (inside, _) = bracketed(text, '[', ']').ok_or_else(|| format!("expected `[…]`, found `{text}`"))?;
    split(inside, ',').into_iter().map(number).collect()
}
