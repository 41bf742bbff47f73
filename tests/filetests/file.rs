//! The parts of a file.

use tenfold_ir::{ConstBytes, ConstData, DType, Module, Scalar};

/// What a tensor is called with: its dtype, its elements.
pub(crate) struct Input {
    pub cells: Vec<Scalar>,
}

/// A file, read.
pub(crate) struct File {
    /// The words after `; test`.
    pub command: Vec<String>,
    pub module: Module,
    pub syms: Vec<(String, i64)>,
    pub inputs: Vec<Input>,
    /// The steps of `test schedule`.
    pub trace: String,
    /// Settings of passes, and their level.
    pub config: Vec<(String, String)>,
    pub opt_level: Option<u32>,
    /// The machine that passes see, if it is not a common one.
    pub target: Option<String>,
    /// Features of that machine, with commas between them.
    pub features: String,
    /// Those of the machine that constants are laid out for, if it is another.
    pub layout: Option<String>,
    /// Why the text does not parse, for `test parse`.
    pub refused: Option<String>,
    /// The IR as written, without what is expected.
    pub source: String,
    pub expected: Vec<String>,
    head: String,
}

impl File {
    pub(crate) fn read(text: &str) -> Result<File, String> {
        let (head, expected) = text.split_once("; expect\n").unwrap_or((text, ""));
        let expected = expected.lines().map(|l| l.strip_prefix("; ").unwrap_or(l.trim_start_matches(';')).to_string());
        let mut file = File {
            command: Vec::new(),
            module: Module::default(),
            syms: Vec::new(),
            inputs: Vec::new(),
            trace: String::new(),
            config: Vec::new(),
            opt_level: None,
            target: None,
            features: String::new(),
            layout: None,
            refused: None,
            source: String::new(),
            expected: expected.collect(),
            head: head.trim_end().to_string(),
        };
        for line in head.lines() {
            match line.strip_prefix("; ") {
                Some(directive) => file.directive(directive)?,
                None => file.source += &format!("{line}\n"),
            }
        }
        if file.command.is_empty() {
            return Err("expected `; test roundtrip`, `verify`, `pass` or `run`".into());
        }
        match file.parse() {
            Err(e) if file.command == ["parse"] => file.refused = Some(format!("error: {e}")),
            parsed => parsed?,
        }
        Ok(file)
    }

    fn directive(&mut self, line: &str) -> Result<(), String> {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "test" => self.command = rest.split_whitespace().map(str::to_string).collect(),
            "const" => {
                let (hash, rest) = rest.split_once(' ').ok_or("expected `const HASH dtype[shape] = values`")?;
                let (dtype, shape, cells) = tensor(rest)?;
                let bytes: Vec<u8> = cells.iter().flat_map(|c| c.to_le_bytes()).collect();
                let bytes = ConstBytes::Inline(bytes.into());
                let (hash, name) = (hash.to_string(), "weights".to_string());
                self.module.constants.push(ConstData { hash, name, dtype, shape, bytes });
            }
            "config" => {
                let (key, value) = rest.split_once('=').ok_or("expected `config KEY = VALUE`")?;
                self.config.push((key.trim().to_string(), value.trim().to_string()));
            }
            "target" => self.target = Some(rest.trim().to_string()),
            "features" => self.features = rest.trim().to_string(),
            "layout" => self.layout = Some(rest.trim().to_string()),
            "opt" => {
                let level = rest.trim().parse().map_err(|_| format!("expected a level, found `{rest}`"))?;
                self.opt_level = Some(level);
            }
            "sym" => {
                let (name, value) = rest.split_once('=').ok_or("expected `sym NAME = value`")?;
                let value = value.trim().parse().map_err(|_| format!("expected a number, found `{value}`"))?;
                self.syms.push((name.trim().to_string(), value));
            }
            "input" => {
                let (_, _, cells) = tensor(rest)?;
                self.inputs.push(Input { cells });
            }
            "step" => self.trace += &format!("{rest}\n"),
            // Anything else is a comment.
            _ => {}
        }
        Ok(())
    }

    /// The first function is the entry.
    fn parse(&mut self) -> Result<(), String> {
        tenfold_ir::parse_functions(&mut self.module, &self.source, 0).map_err(|e| e.to_string())?;
        let first = self.source.lines().find_map(|l| l.strip_prefix("relax @").or(l.strip_prefix("prim @")));
        if let Some(name) = first.and_then(|l| l.split(['(', '<', '[', ' ']).next()) {
            self.module.entry = name.trim().to_string();
            self.module.sources = vec![self.module.entry.clone()];
        }
        Ok(())
    }

    /// The file with another expectation.
    pub(crate) fn blessed(&self, found: &[String]) -> String {
        let mut out = format!("{}\n", self.head);
        if !found.is_empty() {
            out += "; expect\n";
        }
        for line in found {
            out += format!("; {line}").trim_end();
            out.push('\n');
        }
        out
    }
}

/// `f32[2] = 1 nan`: dtype, shape, elements.
fn tensor(text: &str) -> Result<(DType, Vec<u64>, Vec<Scalar>), String> {
    let wrong = || format!("expected `dtype[shape] = values`, found `{text}`");
    let (ty, values) = text.split_once('=').ok_or_else(wrong)?;
    let (name, shape) = ty.trim().split_once('[').ok_or_else(wrong)?;
    let dtype = DType::from_any_name(name).ok_or_else(wrong)?;
    let shape = shape.trim_end_matches(']').split(',').map(str::trim).filter(|d| !d.is_empty());
    let shape = shape.map(|d| d.parse().map_err(|_| wrong())).collect::<Result<Vec<u64>, _>>()?;
    let values = values.split_whitespace();
    let cells = values.map(|v| match (v.parse::<i128>(), v.parse::<f64>()) {
        (Ok(int), _) => Ok(Scalar::int(dtype, int)),
        (_, Ok(real)) => Ok(Scalar::float(dtype, real)),
        _ => Err(wrong()),
    });
    let cells = cells.collect::<Result<Vec<_>, _>>()?;
    if cells.len() as u64 == shape.iter().product::<u64>() { Ok((dtype, shape, cells)) } else { Err(wrong()) }
}

/// Where two texts part.
pub(crate) fn difference(expected: &[String], found: &[String]) -> String {
    let n = expected.iter().zip(found).take_while(|(a, b)| a == b).count();
    let line = |all: &[String]| all.get(n).map_or("the end".to_string(), |l| format!("`{l}`"));
    format!("line {} of what is expected: expected {}, found {}", n + 1, line(expected), line(found))
}
