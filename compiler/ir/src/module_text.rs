//! A module as text: its entry, its sources, its constants, and its functions in the order of their names.
//!
//! Constants stand by their hashes. Bytes of small ones stand in the text, in hex; those of others in a sidecar, a run of
//! bytes that is kept beside the text; those that lie in a file stay there.

use std::fmt::Write;

use crate::text::{ParseError, quoted};
use crate::{ConstBytes, ConstData, DType, Function, Module, relax, tir};

/// Bytes of a constant that may stand in the text.
const INLINE: usize = 64;

/// Every function in the order of its name.
pub fn functions_text(module: &Module) -> String {
    let texts = module.functions.values().map(|f| match f {
        Function::Relax(f) => relax::print_function(f),
        Function::Prim(f) => tir::print(module, f),
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// The whole module, and the sidecar with the bytes that do not stand in the text.
pub fn module_text(module: &Module) -> (String, Vec<u8>) {
    let (mut out, mut sidecar) = (String::new(), Vec::new());
    if !module.entry.is_empty() {
        let _ = writeln!(out, "entry @{}", module.entry);
    }
    for source in &module.sources {
        let _ = writeln!(out, "source {}", tir::quote(source));
    }
    for constant in &module.constants {
        let _ = writeln!(out, "{}", constant_text(constant, &mut sidecar));
    }
    if !out.is_empty() && !module.functions.is_empty() {
        out.push('\n');
    }
    (out + &functions_text(module), sidecar)
}

fn constant_text(data: &ConstData, sidecar: &mut Vec<u8>) -> String {
    let shape: Vec<String> = data.shape.iter().map(u64::to_string).collect();
    let (name, dtype) = (tir::quote(&data.name), data.dtype.name());
    let head = format!("const {} {name} {dtype}[{}]", data.hash, shape.join(", "));
    match &data.bytes {
        ConstBytes::Inline(bytes) if bytes.len() <= INLINE => {
            let hex: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
            format!("{head} = {hex}").trim_end().to_string()
        }
        ConstBytes::Inline(bytes) => {
            let offset = sidecar.len();
            sidecar.extend_from_slice(bytes);
            format!("{head} sidecar {offset} +: {}", bytes.len())
        }
        ConstBytes::File { path, offset, len } => {
            format!("{head} file {} {offset} +: {len}", tir::quote(&path.to_string_lossy()))
        }
    }
}

/// Reads what [`module_text`] gives. Laws are the verifiers' business.
pub fn parse_module(text: &str, sidecar: &[u8]) -> Result<Module, ParseError> {
    let mut module = Module::default();
    let mut at = 0;
    for (n, line) in text.lines().enumerate() {
        if begins(line) {
            break;
        }
        header(&mut module, crate::text::strip(line), sidecar).map_err(|message| ParseError {
            line: n + 1,
            column: 1,
            message,
        })?;
        at = n + 1;
    }
    parse_functions(&mut module, text, at)?;
    Ok(module)
}

/// Whether a function begins at a line.
fn begins(line: &str) -> bool {
    line.starts_with("relax @") || line.starts_with("prim @")
}

fn header(module: &mut Module, line: &str, sidecar: &[u8]) -> Result<(), String> {
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    match word {
        "" => {}
        "entry" => module.entry = rest.strip_prefix('@').ok_or("expected `entry @name`")?.to_string(),
        "source" => module.sources.push(quoted(rest).ok_or("expected `source \"path\"`")?.0),
        "const" => module.constants.push(constant(rest, sidecar)?),
        _ => return Err(format!("expected `entry`, `source`, `const` or a function, found `{line}`")),
    }
    Ok(())
}

fn constant(text: &str, sidecar: &[u8]) -> Result<ConstData, String> {
    let wrong = || format!("expected `const hash \"name\" dtype[shape] = hex`, found `const {text}`");
    let (hash, rest) = text.split_once(' ').ok_or_else(wrong)?;
    let (name, rest) = quoted(rest).ok_or_else(wrong)?;
    let (dtype, rest) = rest.split_once('[').ok_or_else(wrong)?;
    let (shape, rest) = rest.split_once(']').ok_or_else(wrong)?;
    let dtype = DType::from_any_name(dtype.trim()).ok_or_else(|| format!("expected a dtype, found `{dtype}`"))?;
    let extents = shape.split(',').map(str::trim).filter(|d| !d.is_empty());
    let shape = extents.map(|d| d.parse().map_err(|_| wrong())).collect::<Result<Vec<u64>, _>>()?;
    let bytes = bytes(rest.trim(), sidecar)?;
    let elements = shape.iter().try_fold(dtype.size_bytes() as u64, |n, d| n.checked_mul(*d)).ok_or_else(wrong)?;
    let found = match &bytes {
        ConstBytes::Inline(bytes) => bytes.len() as u64,
        ConstBytes::File { len, .. } => *len,
    };
    if found != elements {
        return Err(format!("expected {elements} bytes, found {found}"));
    }
    Ok(ConstData { hash: hash.to_string(), name, dtype, shape, bytes })
}

fn bytes(text: &str, sidecar: &[u8]) -> Result<ConstBytes, String> {
    let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
    match word {
        "=" => Ok(ConstBytes::Inline(hex(rest.trim())?.into())),
        "sidecar" => {
            let (offset, len) = range(rest)?;
            let end = offset.checked_add(len).and_then(|end| usize::try_from(end).ok());
            let part = end.and_then(|end| sidecar.get(offset as usize..end));
            let part = part.ok_or_else(|| format!("the sidecar has {} bytes, expected {rest}", sidecar.len()))?;
            Ok(ConstBytes::Inline(part.into()))
        }
        "file" => {
            let (path, rest) = quoted(rest).ok_or("expected `file \"path\" offset +: length`")?;
            let (offset, len) = range(rest)?;
            Ok(ConstBytes::File { path: path.into(), offset, len })
        }
        _ => Err(format!("expected `=`, `sidecar` or `file`, found `{text}`")),
    }
}

fn range(text: &str) -> Result<(u64, u64), String> {
    let wrong = || format!("expected `offset +: length`, found `{text}`");
    let (offset, len) = text.split_once("+:").ok_or_else(wrong)?;
    Ok((offset.trim().parse().map_err(|_| wrong())?, len.trim().parse().map_err(|_| wrong())?))
}

fn hex(text: &str) -> Result<Vec<u8>, String> {
    let digits: Vec<u8> = text
        .chars()
        .map(|c| c.to_digit(16).map(|d| d as u8).ok_or_else(|| format!("expected hex digits, found `{c}`")))
        .collect::<Result<_, _>>()?;
    if !digits.len().is_multiple_of(2) {
        return Err("expected two hex digits for a byte".into());
    }
    Ok(digits.chunks_exact(2).map(|d| d[0] * 16 + d[1]).collect())
}

/// Reads the functions of a text from line `from` on (counted from 0) into a module that has its constants.
pub fn parse_functions(module: &mut Module, text: &str, from: usize) -> Result<(), ParseError> {
    let mut parts: Vec<(usize, String)> = Vec::new();
    for (n, line) in text.lines().enumerate().skip(from) {
        match parts.last_mut() {
            _ if begins(line) => parts.push((n, format!("{line}\n"))),
            Some((_, last)) => *last += &format!("{line}\n"),
            None if crate::text::strip(line).is_empty() => {}
            None => {
                let message = format!("expected a function, found `{line}`");
                return Err(ParseError { line: n + 1, column: 1, message });
            }
        }
    }
    for (start, part) in parts {
        let here = |e: ParseError| ParseError { line: e.line + start, ..e };
        for func in function(module, &part).map_err(here)? {
            let name = match &func {
                Function::Relax(f) => f.name.clone(),
                Function::Prim(f) => f.name.clone(),
            };
            if module.functions.contains_key(&name) {
                let message = format!("two functions are called `{name}`");
                return Err(ParseError { line: start + 1, column: 1, message });
            }
            module.functions.insert(name, func);
        }
    }
    Ok(())
}

fn function(module: &Module, text: &str) -> Result<Vec<Function>, ParseError> {
    if text.starts_with("relax @") {
        return Ok(vec![Function::Relax(relax::parse_function(text)?)]);
    }
    Ok(tir::parse(module, text)?.into_iter().map(Function::Prim).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(name: &str, len: usize) -> ConstData {
        let bytes = ConstBytes::Inline((0..len).map(|i| i as u8).collect::<Vec<_>>().into());
        let hash = format!("{len:032x}");
        ConstData { hash, name: name.into(), dtype: DType::U8, shape: vec![len as u64], bytes }
    }

    #[test]
    fn a_module_reads_back_with_its_constants() {
        let mut module = tir::random::module(7);
        module.constants.extend([data("none", 0), data("small", 3), data("large // \"x\"", 1000)]);
        let bytes = ConstBytes::File { path: "a b.bin".into(), offset: 8, len: 4 };
        module.constants.push(ConstData { bytes, ..data("file", 4) });
        module.sources.push("crate::\u{e4}".into());
        let (text, sidecar) = module_text(&module);
        assert_eq!(sidecar.len(), 1000);
        let again = parse_module(&text, &sidecar).expect("it parses");
        assert_eq!(module_text(&again), (text.clone(), sidecar.clone()));
        assert_eq!((&again.constants, &again.sources), (&module.constants, &module.sources));
        assert!(parse_module(&text, &sidecar[1..]).is_err());
    }

    #[test]
    fn errors_say_where() {
        for (text, expected) in [
            ("entry f", "line 1:1: expected `entry @name`"),
            ("\nconst 1 \"a\" u8[2] = 00", "line 2:1: expected 2 bytes, found 1"),
            ("const 1 \"a\" u8[1] = zz", "line 1:1: expected hex digits, found `z`"),
            ("prim @f() phase flat at 0:0 {\n  eval x\n}", "line 2:8: there is no variable `x`"),
            (
                "prim @f() phase flat at 0:0 {\n}\nprim @f() phase flat at 0:0 {\n}",
                "line 3:1: two functions are called `f`",
            ),
        ] {
            assert_eq!(parse_module(text, &[]).map(|_| ()).map_err(|e| e.to_string()), Err(expected.to_string()));
        }
    }
}
