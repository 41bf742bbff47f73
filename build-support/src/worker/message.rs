//! What is asked of a worker and what it answers: plain data.

use super::wire::{Put, Take};
use tenfold_core::CPUS;
use tenfold_core::show::Ask;
use tenfold_syntax::ast::NodeId;
use tenfold_syntax::index::{DeviceParts, Linked, Shim, Variant};
use tenfold_syntax::{Code, Diagnostic};

/// A function to compile.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Request {
    /// The name of its entry point.
    pub(crate) symbol: String,
    /// The file that its object is to be written to.
    pub(crate) object: String,
    /// The directory for archives of constants.
    pub(crate) archives: String,
    /// Which instance of it.
    pub(crate) instance: u64,
    /// It, then everything it calls, directly or not.
    pub(crate) functions: Vec<Source>,
    /// The directory that the names of files start from.
    pub(crate) package: String,
    /// The paths of the crate's functions, for suggestions.
    pub(crate) known: Vec<String>,
    /// What it is compiled for.
    pub(crate) target: Target,
    /// How.
    pub(crate) options: Options,
    /// A text to make in place of an object.
    pub(crate) text: Option<Ask>,
    /// Of which variant the text is; empty for the widest.
    pub(crate) variant: String,
    /// Whether who links it can call devices: a program in C cannot.
    pub(crate) devices: bool,
}

/// A function's text.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Source {
    /// What stands in `#[tensor_fn(…)]`.
    pub(crate) argument: String,
    /// The function with its other attributes.
    pub(crate) text: String,
    /// Its path in its crate, `crate::nn::mlp`.
    pub(crate) path: String,
    /// The name of its own entry point.
    pub(crate) symbol: String,
    /// The line of its name.
    pub(crate) line: u32,
    /// Each path that it calls, with the place of the callee in [`Request::functions`].
    pub(crate) calls: Vec<(Vec<String>, usize)>,
}

/// A target as cargo describes it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Target {
    /// `TARGET`.
    pub(crate) triple: String,
    /// `HOST`.
    pub(crate) host: String,
    /// Names and values of `CARGO_CFG_TARGET_*`, sorted.
    pub(crate) cfg: Vec<(String, String)>,
    /// What the build script or the environment says beside these: `llvm -mcpu=cortex-m4`; empty for nothing.
    pub(crate) chosen: String,
    /// The devices that functions which name no targets are compiled for too: `spirv -keys=gpu`.
    pub(crate) devices: Vec<String>,
}

impl Target {
    /// As the compiler knows it.
    pub(crate) fn core(&self) -> tenfold_core::Target {
        let features = self.cfg.iter().find(|(key, _)| key == "FEATURE").map_or("", |(_, value)| value);
        let chosen = self.chosen();
        let more = chosen.iter().flat_map(|chosen| chosen.own_features()).map(String::as_str);
        let target =
            tenfold_core::Target::from_triple(&self.triple, &features.split(',').chain(more).collect::<Vec<_>>());
        let cpu = chosen.as_ref().and_then(|chosen| CPUS.iter().find(|cpu| Some(cpu.name) == chosen.own_cpu()));
        let target = cpu.map_or(target.clone(), |cpu| target.with_cpu(cpu));
        let keys = chosen.map(|chosen| chosen.own_keys()).unwrap_or_default();
        // keys were looked at before anything was asked
        target.with_keys(&keys).unwrap_or(target)
    }

    /// The devices as the compiler knows them.
    pub(crate) fn devices(&self) -> Vec<tenfold_core::Target> {
        let devices = self.devices.iter().filter_map(|text| text.parse::<crate::Target>().ok()?.device().ok()?);
        devices.collect()
    }

    /// What is said beside what cargo says.
    pub(crate) fn chosen(&self) -> Option<crate::Target> {
        self.chosen.parse().ok()
    }
}

/// How a function is compiled.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Options {
    /// `TENFOLD_LLVM`.
    pub(crate) llvm: String,
    /// What the build script says of passes, as the environment would say it.
    pub(crate) script: Vec<(String, String)>,
    /// What the environment says of passes: the variables that are set, with their values.
    pub(crate) passes: Vec<(String, String)>,
    /// `TENFOLD_VARIANTS`.
    pub(crate) variants: String,
    /// Whether the profile optimises: nothing says which variants there shall be, and then it does.
    pub(crate) optimised: bool,
    /// The most seconds for one function.
    pub(crate) seconds: u64,
    /// A fault to have, for tests.
    pub(crate) fault: String,
}

/// What became of a function.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Answer {
    /// Its object lies where it was asked for.
    Compiled(Box<Compiled>),
    /// What is wrong with it.
    Refused(Vec<Diagnostic>),
}

/// What is known of a compiled function.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Compiled {
    /// Bytes of workspace for the greatest extents.
    pub(crate) workspace_bytes: Option<u64>,
    /// Bytes of workspace as a Rust expression over the dims.
    pub(crate) workspace_expr: String,
    /// The memories among which the workspace is split, each with its bytes.
    pub(crate) pools: Vec<(String, u64)>,
    /// Bytes of machine code of the baseline.
    pub(crate) code_bytes: u64,
    /// What there is besides the baseline, the best first.
    pub(crate) variants: Vec<Variant>,
    /// The deepest use of the stack.
    pub(crate) stack_bytes: Option<u64>,
    /// Floating-point operations as a Rust expression over the dims.
    pub(crate) flops_expr: String,
    /// The texts of the run-time checks.
    pub(crate) checks: Vec<String>,
    /// The shims that the attribute prints.
    pub(crate) shims: Vec<Shim>,
    /// The archives of its constants, each with the bytes in it.
    pub(crate) constants: Vec<(String, u64)>,
    /// What there is of it for devices.
    pub(crate) device: Option<DeviceParts>,
    /// Milliseconds by stage.
    pub(crate) times: Vec<(String, u64)>,
    /// The most memory that the worker had up to then.
    pub(crate) peak_bytes: Option<u64>,
    /// What an importer left as it was, and why.
    pub(crate) remarks: Vec<String>,
    /// Records of tuned schedules that do not fit, and why.
    pub(crate) refused: Vec<String>,
    /// The text that was asked for.
    pub(crate) text: String,
}

impl Request {
    /// As bytes.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut put = Put::default();
        put.text(&self.symbol);
        put.text(&self.object);
        put.text(&self.archives);
        put.number(self.instance);
        put.list(&self.functions, |put, source| {
            put.text(&source.argument);
            put.text(&source.text);
            put.text(&source.path);
            put.text(&source.symbol);
            put.number(source.line.into());
            put.list(&source.calls, |put, (path, callee)| {
                put.texts(path);
                put.number(*callee as u64);
            });
        });
        put.text(&self.package);
        put.texts(&self.known);
        put.text(&self.target.triple);
        put.text(&self.target.host);
        put.list(&self.target.cfg, |put, (key, value)| {
            put.text(key);
            put.text(value);
        });
        put.text(&self.target.chosen);
        put.texts(&self.target.devices);
        put.text(&self.options.llvm);
        for list in [&self.options.script, &self.options.passes] {
            put.list(list, |put, (variable, value)| {
                put.text(variable);
                put.text(value);
            });
        }
        put.text(&self.options.variants);
        put.number(self.options.optimised.into());
        put.number(self.options.seconds);
        put.text(&self.options.fault);
        put.option(self.text.as_ref().map(Ask::text), |put, text| put.text(&text));
        put.text(&self.variant);
        put.number(self.devices.into());
        put.finish()
    }

    /// From bytes.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut take = Take::new(bytes);
        let request = Self {
            symbol: take.text()?,
            object: take.text()?,
            archives: take.text()?,
            instance: take.number()?,
            functions: take.list(|take| {
                Some(Source {
                    argument: take.text()?,
                    text: take.text()?,
                    path: take.text()?,
                    symbol: take.text()?,
                    line: u32::try_from(take.number()?).ok()?,
                    calls: take.list(|take| Some((take.texts()?, take.number()? as usize)))?,
                })
            })?,
            package: take.text()?,
            known: take.texts()?,
            target: Target {
                triple: take.text()?,
                host: take.text()?,
                cfg: take.list(|take| Some((take.text()?, take.text()?)))?,
                chosen: take.text()?,
                devices: take.texts()?,
            },
            options: Options {
                llvm: take.text()?,
                script: take.list(|take| Some((take.text()?, take.text()?)))?,
                passes: take.list(|take| Some((take.text()?, take.text()?)))?,
                variants: take.text()?,
                optimised: take.number()? == 1,
                seconds: take.number()?,
                fault: take.text()?,
            },
            text: take.option(|take| Ask::from_text(&take.text()?))?,
            variant: take.text()?,
            devices: take.number()? == 1,
        };
        take.end()?;
        Some(request)
    }
}

impl Answer {
    /// As bytes.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut put = Put::default();
        match self {
            Self::Compiled(compiled) => {
                put.number(0);
                put.option(compiled.workspace_bytes, Put::number);
                put.text(&compiled.workspace_expr);
                put.number(compiled.code_bytes);
                put.list(&compiled.variants, |put, variant| put.text(&variant.print()));
                put.option(compiled.stack_bytes, Put::number);
                put.text(&compiled.flops_expr);
                put.texts(&compiled.checks);
                put.list(&compiled.shims, |put, shim| put.text(&shim.print()));
                for list in [&compiled.pools, &compiled.constants, &compiled.times] {
                    put.list(list, |put, (name, value)| {
                        put.text(name);
                        put.number(*value);
                    });
                }
                put.option(compiled.device.as_ref(), |put, device| {
                    put.text(&device.blob.print());
                    put.list(&device.constants, |put, constant| put.text(&constant.print()));
                });
                put.option(compiled.peak_bytes, Put::number);
                put.texts(&compiled.remarks);
                put.texts(&compiled.refused);
                put.text(&compiled.text);
            }
            Self::Refused(diagnostics) => {
                put.number(1);
                put.list(diagnostics, |put, diagnostic| {
                    put.number(diagnostic.node.0.into());
                    put.text(diagnostic.code.number());
                    put.text(&diagnostic.message);
                    put.option(diagnostic.help.as_deref(), Put::text);
                    put.list(&diagnostic.labels, |put, (node, text)| {
                        put.number(node.0.into());
                        put.text(text);
                    });
                });
            }
        }
        put.finish()
    }

    /// From bytes.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut take = Take::new(bytes);
        let node = |number: u64| u32::try_from(number).ok().map(NodeId);
        let answer = match take.number()? {
            0 => Self::Compiled(Box::new(Compiled {
                workspace_bytes: take.option(Take::number)?,
                workspace_expr: take.text()?,
                code_bytes: take.number()?,
                variants: take.list(|take| Variant::parse(&take.text()?))?,
                stack_bytes: take.option(Take::number)?,
                flops_expr: take.text()?,
                checks: take.texts()?,
                shims: take.list(|take| Shim::parse(&take.text()?))?,
                pools: take.list(|take| Some((take.text()?, take.number()?)))?,
                constants: take.list(|take| Some((take.text()?, take.number()?)))?,
                times: take.list(|take| Some((take.text()?, take.number()?)))?,
                device: take.option(|take| {
                    let blob = Linked::parse(&take.text()?)?;
                    Some(DeviceParts { blob, constants: take.list(|take| Linked::parse(&take.text()?))? })
                })?,
                peak_bytes: take.option(Take::number)?,
                remarks: take.texts()?,
                refused: take.texts()?,
                text: take.text()?,
            })),
            1 => Self::Refused(take.list(|take| {
                Some(Diagnostic {
                    node: node(take.number()?)?,
                    code: Code::from_number(&take.text()?)?,
                    message: take.text()?,
                    help: take.option(Take::text)?,
                    labels: take.list(|take| Some((node(take.number()?)?, take.text()?)))?,
                })
            })?),
            _ => return None,
        };
        take.end()?;
        Some(answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trips() {
        let request = Request {
            symbol: "s".into(),
            functions: vec![Source {
                argument: "dims(K = 1)".into(),
                text: "fn f() {}\n".into(),
                path: "crate::f".into(),
                symbol: "s".into(),
                line: 7,
                calls: vec![(vec!["self".into(), "g".into()], 1)],
            }],
            instance: 2,
            text: Some(Ask::Passes),
            variant: "baseline".into(),
            devices: true,
            options: Options { variants: "all".into(), optimised: true, ..Options::default() },
            target: Target {
                triple: "t".into(),
                host: "h".into(),
                cfg: vec![("ARCH".into(), "x".into())],
                chosen: "c".into(),
                devices: vec!["spirv".into()],
            },
            ..Request::default()
        };
        let bytes = request.to_bytes();
        assert_eq!(Request::from_bytes(&bytes), Some(request));
        let answers = [
            Answer::Compiled(Box::new(Compiled {
                code_bytes: 5,
                variants: Variant::parse("x86-64-v2 s__v2 7 popcnt,sse3").into_iter().collect(),
                stack_bytes: Some(8),
                peak_bytes: Some(1 << 30),
                shims: Shim::parse("s 3 crate::f in:f32:?,8 out:i64:").into_iter().collect(),
                constants: vec![("w".into(), 4)],
                device: Linked::parse("b s 64").map(|blob| DeviceParts { constants: vec![blob.clone()], blob }),
                remarks: vec!["missed".into()],
                refused: vec!["the entry".into()],
                ..Compiled::default()
            })),
            Answer::Refused(vec![Diagnostic::new(NodeId(3), Code::Internal, "m").help("h").label(NodeId(0), "l")]),
        ];
        for answer in answers {
            let bytes = answer.to_bytes();
            for end in 0..bytes.len() {
                assert_eq!(Answer::from_bytes(&bytes[..end]), None);
            }
            assert_eq!(Answer::from_bytes(&bytes), Some(answer));
        }
    }
}
