//! The command line.

use crate::explain::Explained;
use crate::{help, onnx, tune};
use lexopt::{Arg, Parser};
use std::ffi::OsString;
use std::path::PathBuf;
use tenfold_build::look;
use tenfold_core::{Stage, pass, show::Ask};

/// What is asked for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Arguments {
    /// The command with what is its own.
    pub(crate) command: Command,
    /// `--package`.
    pub(crate) package: Option<String>,
    /// `--manifest-path`.
    pub(crate) manifest: Option<PathBuf>,
    /// `--target`.
    pub(crate) target: Option<String>,
    /// `--features` and its kin.
    pub(crate) features: Features,
}

/// Which features are active.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Features {
    /// `--features`.
    pub(crate) names: Vec<String>,
    /// `--all-features`.
    pub(crate) all: bool,
    /// `--no-default-features`.
    pub(crate) no_default: bool,
}

/// A command.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Command {
    /// What is on this machine.
    Doctor,
    /// The functions of a package.
    List {
        /// For tools.
        json: bool,
    },
    /// One function's text.
    Show {
        /// Which text.
        ask: Ask,
        /// Of which variant; of the widest if none is named.
        variant: Option<String>,
        /// Which function.
        function: String,
    },
    /// The pass that a command fails with.
    Bisect {
        /// Which function.
        function: String,
        /// The command: a program and its arguments.
        command: Vec<OsString>,
    },
    /// One function's picture.
    Graph {
        /// Which function.
        function: String,
        /// The file to write; standard output if there is none.
        output: Option<PathBuf>,
    },
    /// What one function's kernels do, and how fast.
    Explain {
        /// For what, and what to print.
        asked: Explained,
        /// Which function.
        function: String,
    },
    /// Faster schedules for one function's kernels.
    Tune {
        /// How long, and for which kernel.
        asked: tune::Asked,
        /// Which function.
        function: String,
    },
    /// A library for programs in C.
    Lib {
        /// The folder to write archive and header to.
        output: PathBuf,
    },
    /// The numbers of one function or of all.
    Stats {
        /// For tools.
        json: bool,
        /// Which function.
        function: Option<String>,
    },
}

impl Command {
    /// The name of a command that is for processors alone.
    pub(crate) fn of_processors(&self) -> Option<&'static str> {
        match self {
            Command::Explain { asked, .. } if asked.device.is_none() => Some(Name::Explain.text()),
            Command::Tune { .. } => Some(Name::Tune.text()),
            Command::Lib { .. } => Some(Name::Lib.text()),
            Command::Doctor
            | Command::List { .. }
            | Command::Explain { .. }
            | Command::Show { .. }
            | Command::Bisect { .. }
            | Command::Graph { .. }
            | Command::Stats { .. } => None,
        }
    }
}

/// What a command line comes to.
#[derive(Debug, PartialEq)]
pub(crate) enum Parsed {
    /// Do this.
    Run(Box<Arguments>),
    /// Print this.
    Say(String),
}

/// Reads the arguments that follow the program's name.
pub(crate) fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Parsed, String> {
    let mut arguments: Vec<OsString> = arguments.into_iter().collect();
    // cargo hands the name of the subcommand on
    if arguments.first().is_some_and(|first| first == "tenfold") {
        arguments.remove(0);
    }
    let mut reader = Reader { command: None, rest: Rest::default() };
    reader.read(Parser::from_args(arguments)).map_err(|text| reader.explain(&text))
}

/// The name of a command before anything else is known of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Name {
    Doctor,
    List,
    Show,
    Diff,
    Bisect,
    Graph,
    Explain,
    Tune,
    Lib,
    Stats,
}

impl Name {
    const ALL: [Self; 10] = [
        Self::Doctor,
        Self::List,
        Self::Show,
        Self::Diff,
        Self::Bisect,
        Self::Graph,
        Self::Explain,
        Self::Tune,
        Self::Lib,
        Self::Stats,
    ];

    fn text(self) -> &'static str {
        match self {
            Self::Doctor => "doctor",
            Self::List => "list",
            Self::Show => "show",
            Self::Diff => "diff",
            Self::Bisect => "bisect",
            Self::Graph => "graph",
            Self::Explain => "explain",
            Self::Tune => "tune",
            Self::Lib => "lib",
            Self::Stats => "stats",
        }
    }

    fn help(self) -> &'static str {
        match self {
            Self::Doctor => help::DOCTOR,
            Self::List => help::LIST,
            Self::Show => help::SHOW,
            Self::Diff => help::DIFF,
            Self::Bisect => help::BISECT,
            Self::Graph => help::GRAPH,
            Self::Explain => help::EXPLAIN,
            Self::Tune => help::TUNE,
            Self::Lib => help::LIB,
            Self::Stats => help::STATS,
        }
    }

    /// How many values it takes: a function, and two passes or a command.
    fn values(self) -> usize {
        match self {
            Self::Doctor | Self::List | Self::Lib => 0,
            Self::Show | Self::Graph | Self::Explain | Self::Tune | Self::Stats => 1,
            Self::Diff => 3,
            Self::Bisect => usize::MAX,
        }
    }
}

impl Features {
    /// Names with commas or spaces between them.
    fn add(&mut self, text: &str) {
        let names = text.split([',', ' ']).filter(|name| !name.is_empty());
        self.names.extend(names.map(String::from));
    }
}

#[derive(Default)]
struct Rest {
    package: Option<String>,
    manifest: Option<PathBuf>,
    target: Option<String>,
    features: Features,
    ask: Option<Ask>,
    variant: Option<String>,
    values: Vec<OsString>,
    output: Option<PathBuf>,
    json: bool,
    explained: Explained,
    tuned: tune::Asked,
}

impl Rest {
    /// Only one thing is shown.
    fn ask(&mut self, ask: Ask) -> Result<(), String> {
        match self.ask.replace(ask) {
            None => Ok(()),
            Some(_) => {
                Err("only one of `--stage`, `--before`, `--after`, `--passes`, `--timing` and `--remarks` can be shown"
                    .into())
            }
        }
    }

    fn function(&mut self) -> Result<String, String> {
        let missing = "the name of a function is missing; `cargo tenfold list` names them";
        if self.values.is_empty() { Err(missing.into()) } else { value(self.values.remove(0)) }
    }
}

struct Reader {
    command: Option<Name>,
    rest: Rest,
}

impl Reader {
    fn read(&mut self, mut parser: Parser) -> Result<Parsed, String> {
        while let Some(argument) = parser.next().map_err(text)? {
            match (argument, self.command) {
                (Arg::Short('h') | Arg::Long("help"), command) => {
                    return Ok(Parsed::Say(command.map_or(help::ALL, Name::help).into()));
                }
                (Arg::Short('V') | Arg::Long("version"), _) => {
                    return Ok(Parsed::Say(format!("cargo-tenfold {}\n", env!("CARGO_PKG_VERSION"))));
                }
                (Arg::Value(name), None) => self.command = Some(command(&name.to_string_lossy())?),
                (Arg::Value(value), Some(name)) if self.rest.values.len() < name.values() => {
                    self.rest.values.push(value);
                }
                (argument, Some(name)) => {
                    let argument = owned(argument);
                    self.option(name, &argument, &mut parser)?;
                }
                (argument, None) => return Err(argument.unexpected().to_string()),
            }
        }
        self.finish()
    }

    fn option(&mut self, name: Name, argument: &Argument, parser: &mut Parser) -> Result<(), String> {
        let mut value = || parser.value().map_err(text)?.string().map_err(text);
        let rest = &mut self.rest;
        let compiles = name != Name::Doctor;
        match argument {
            Argument::Short('p') => rest.package = Some(value()?),
            Argument::Short('F') if compiles => rest.features.add(&value()?),
            Argument::Short('s') if name == Name::Show => rest.ask(Ask::Stage(stage(&value()?)?))?,
            Argument::Short('o') if matches!(name, Name::Graph | Name::Explain | Name::Lib) => {
                rest.output = Some(parser.value().map_err(text)?.into())
            }
            Argument::Long(long) => match long.as_str() {
                "package" => rest.package = Some(value()?),
                "manifest-path" => rest.manifest = Some(parser.value().map_err(text)?.into()),
                "target" => rest.target = Some(value()?),
                "features" if compiles => rest.features.add(&value()?),
                "all-features" if compiles => rest.features.all = true,
                "no-default-features" if compiles => rest.features.no_default = true,
                "stage" if name == Name::Show => rest.ask(Ask::Stage(stage(&value()?)?))?,
                "before" if name == Name::Show => rest.ask(Ask::Before(known_pass(value()?)?))?,
                "after" if name == Name::Show => rest.ask(Ask::After(known_pass(value()?)?))?,
                "passes" if name == Name::Show => rest.ask(Ask::Passes)?,
                "timing" if name == Name::Show => rest.ask(Ask::Timing)?,
                "remarks" if name == Name::Show => rest.ask(Ask::Remarks)?,
                "variant" if matches!(name, Name::Show | Name::Diff) => rest.variant = Some(value()?),
                "output" if matches!(name, Name::Graph | Name::Explain | Name::Lib) => {
                    rest.output = Some(parser.value().map_err(text)?.into())
                }
                "json" if matches!(name, Name::List | Name::Explain | Name::Stats) => rest.json = true,
                "dim" if name == Name::Explain => rest.explained.dims.extend([onnx::dim(&value()?)?]),
                "device" if name == Name::Explain => rest.explained.device = Some(device(&value()?)?),
                "gpu" if name == Name::Explain => rest.explained.gpu = Some(value()?),
                "no-run" if name == Name::Explain => rest.explained.no_run = true,
                "seconds" if name == Name::Explain => {
                    rest.explained.seconds = onnx::seconds(parser.value().and_then(|v| v.parse()).map_err(text)?)?;
                }
                "threads" if name == Name::Explain => {
                    rest.explained.threads = onnx::threads(parser.value().and_then(|v| v.parse()).map_err(text)?)?;
                }
                "trials" if name == Name::Tune => {
                    rest.tuned.trials = tune::trials(parser.value().and_then(|v| v.parse()).map_err(text)?)?;
                }
                "seed" if name == Name::Tune => {
                    rest.tuned.seed = parser.value().and_then(|v| v.parse()).map_err(text)?;
                }
                "kernel" if name == Name::Tune => rest.tuned.kernel = Some(value()?),
                "seconds" if name == Name::Tune => {
                    let seconds = parser.value().and_then(|v| v.parse()).map_err(text)?;
                    rest.tuned.seconds = Some(onnx::seconds(seconds)?);
                }
                _ => return Err(argument.unexpected(name)),
            },
            Argument::Short(_) | Argument::Value(_) => return Err(argument.unexpected(name)),
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<Parsed, String> {
        let mut rest = std::mem::take(&mut self.rest);
        let command = match self.command {
            None => return Err(format!("a command is missing; expected {}", commands())),
            Some(Name::Doctor) => Command::Doctor,
            Some(Name::List) => Command::List { json: rest.json },
            Some(Name::Show) => {
                let function = rest.function()?;
                let ask = rest.ask.take().unwrap_or(Ask::Stage(Stage::Tir));
                Command::Show { ask, variant: rest.variant.take(), function }
            }
            Some(Name::Diff) => {
                let function = rest.function()?;
                let [a, b] = <[OsString; 2]>::try_from(std::mem::take(&mut rest.values))
                    .map_err(|_| "two passes are missing: `cargo tenfold diff FN PASS PASS`".to_string())?;
                let ask = Ask::Diff(known_pass(value(a)?)?, known_pass(value(b)?)?);
                Command::Show { ask, variant: rest.variant.take(), function }
            }
            Some(Name::Bisect) => {
                let (function, command) = (rest.function()?, std::mem::take(&mut rest.values));
                if command.is_empty() {
                    return Err("a command is missing: `cargo tenfold bisect FN -- COMMAND …`".into());
                }
                Command::Bisect { function, command }
            }
            Some(Name::Graph) => Command::Graph { function: rest.function()?, output: rest.output.take() },
            Some(Name::Explain) => {
                let (json, output) = (rest.json, rest.output.take());
                let asked = Explained { json, output, ..std::mem::take(&mut rest.explained) };
                known_gpu(asked.device.as_deref(), asked.gpu.as_deref())?;
                Command::Explain { asked, function: rest.function()? }
            }
            Some(Name::Tune) => Command::Tune { asked: std::mem::take(&mut rest.tuned), function: rest.function()? },
            Some(Name::Lib) => {
                let missing = "the folder to write to is missing: `cargo tenfold lib --output DIR`";
                Command::Lib { output: rest.output.take().ok_or(missing)? }
            }
            Some(Name::Stats) => {
                Command::Stats { json: rest.json, function: rest.values.pop().map(value).transpose()? }
            }
        };
        let Rest { package, manifest, target, features, .. } = rest;
        Ok(Parsed::Run(Box::new(Arguments { command, package, manifest, target, features })))
    }

    fn explain(&self, text: &str) -> String {
        let command = self.command.map_or(String::new(), |name| format!(" {}", name.text()));
        format!("error: {text}\n\nFor more, try `cargo tenfold{command} --help`.\n")
    }
}

/// An argument that borrows nothing from the parser.
enum Argument {
    Short(char),
    Long(String),
    Value(String),
}

fn owned(argument: Arg<'_>) -> Argument {
    match argument {
        Arg::Short(short) => Argument::Short(short),
        Arg::Long(long) => Argument::Long(long.into()),
        Arg::Value(value) => Argument::Value(value.to_string_lossy().into_owned()),
    }
}

impl Argument {
    fn unexpected(&self, name: Name) -> String {
        let name = name.text();
        match self {
            Self::Short(short) => format!("`{name}` has no option `-{short}`"),
            Self::Long(long) => format!("`{name}` has no option `--{long}`"),
            Self::Value(value) => format!("`{name}` has no use for `{value}`"),
        }
    }
}

/// A value that must be a text.
fn value(value: OsString) -> Result<String, String> {
    value.string().map_err(text)
}

fn text(error: lexopt::Error) -> String {
    error.to_string()
}

fn command(name: &str) -> Result<Name, String> {
    let found = Name::ALL.into_iter().find(|known| known.text() == name);
    found.ok_or_else(|| format!("there is no command `{name}`; expected {}", commands()))
}

fn commands() -> String {
    let all = Name::ALL.iter().map(|name| name.text()).chain(crate::onnx::NAMES);
    let names: Vec<String> = all.map(|name| format!("`{name}`")).collect();
    let (last, others) = (&names[names.len() - 1], &names[..names.len() - 1]);
    format!("{} or {last}", others.join(", "))
}

/// The text of a target that is a device.
pub(crate) fn device(text: &str) -> Result<String, String> {
    look::device(text).map(|_| text.to_string())
}

/// Refuses a GPU that kernels for the device are not estimated for.
pub(crate) fn known_gpu(device: Option<&str>, gpu: Option<&str>) -> Result<(), String> {
    match (device, gpu) {
        (_, None) => Ok(()),
        (None, Some(_)) => Err("`--gpu` says which GPU a device is taken for: write `--device spirv` too".into()),
        (Some(text), Some(gpu)) => match look::device(text)?.device {
            Some(device) => device.gpu_of_name(gpu).map(|_| ()),
            None => Ok(()),
        },
    }
}

/// A pass of the registry, or the number of a run.
fn known_pass(name: String) -> Result<String, String> {
    if name.parse::<usize>().is_ok() {
        return Ok(name);
    }
    match pass::get(&name) {
        Ok(_) => Ok(name),
        Err(error) => Err(error.help.map_or(error.message.clone(), |help| format!("{}; {help}", error.message))),
    }
}

fn stage(name: &str) -> Result<Stage, String> {
    let names = Stage::ALL.map(|stage| format!("`{}`", stage.name())).join(", ");
    Stage::from_name(name).ok_or_else(|| format!("there is no stage `{name}`; expected one of {names}"))
}

use lexopt::ValueExt as _;

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Parsed, String> {
        parse(line.split_whitespace().map(OsString::from))
    }

    fn run(line: &str) -> Arguments {
        match read(line) {
            Ok(Parsed::Run(arguments)) => *arguments,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn what_can_be_asked() {
        assert_eq!(run("tenfold doctor").command, Command::Doctor);
        assert_eq!(run("doctor --target thumbv7em-none-eabihf").target.as_deref(), Some("thumbv7em-none-eabihf"));
        assert_eq!(run("list --json -p x").command, Command::List { json: true });
        let features = Features { names: vec!["a".into(), "b".into()], all: false, no_default: true };
        assert_eq!(run("list -F a,b --no-default-features").features, features);
        let show = |variant: Option<&str>| Command::Show {
            ask: Ask::Stage(Stage::Asm),
            variant: variant.map(String::from),
            function: "nn::mlp".into(),
        };
        assert_eq!(run("show nn::mlp --stage asm --variant x86-64-v3").command, show(Some("x86-64-v3")));
        for line in ["show --stage asm nn::mlp", "show --stage=asm nn::mlp", "show nn::mlp -sasm"] {
            assert_eq!(run(line).command, show(None), "{line}");
        }
        let asks = [
            ("show f", Ask::Stage(Stage::Tir)),
            ("show f --after PadConv", Ask::After("PadConv".into())),
            ("show --before 3 f", Ask::Before("3".into())),
            ("show f --passes", Ask::Passes),
            ("show f --timing", Ask::Timing),
            ("show f --remarks", Ask::Remarks),
            ("diff f PadConv Materialise", Ask::Diff("PadConv".into(), "Materialise".into())),
        ];
        for (line, ask) in asks {
            assert_eq!(run(line).command, Command::Show { ask, variant: None, function: "f".into() }, "{line}");
        }
        let command = ["cargo", "test", "--release"].map(OsString::from).to_vec();
        let bisect = Command::Bisect { function: "f".into(), command };
        assert_eq!(run("bisect f -- cargo test --release").command, bisect);
        let output = Some(PathBuf::from("x.html"));
        assert_eq!(run("graph f -o x.html").command, Command::Graph { function: "f".into(), output });
        let output = Some(PathBuf::from("x.html"));
        let dims = [("B".into(), 8)].into();
        let device = Some("nvptx:sm_80".to_string());
        let gpu = Some("h100".to_string());
        let asked = Explained { dims, seconds: 0.5, threads: 3, device, gpu, no_run: true, json: true, output };
        let line =
            "explain f --dim B=8 --seconds 0.5 --threads 3 --device nvptx:sm_80 --gpu h100 --no-run --json -o x.html";
        assert_eq!(run(line).command, Command::Explain { asked, function: "f".into() });
        let asked = tune::Asked { trials: 9, seconds: Some(2.5), seed: 7, kernel: Some("conv".into()) };
        let line = "tune f --trials 9 --seconds 2.5 --seed 7 --kernel conv";
        assert_eq!(run(line).command, Command::Tune { asked, function: "f".into() });
        assert_eq!(run("lib --target x -o out").command, Command::Lib { output: "out".into() });
        assert_eq!(run("stats --json").command, Command::Stats { json: true, function: None });
        assert_eq!(run("stats f").command, Command::Stats { json: false, function: Some("f".into()) });
    }

    #[test]
    fn help_is_a_commands_own() {
        for (line, text) in [("--help", help::ALL), ("list -h", help::LIST), ("show f --help", help::SHOW)] {
            assert_eq!(read(line), Ok(Parsed::Say(text.into())), "{line}");
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        let cases = [
            (
                "",
                "a command is missing; expected `doctor`, `list`, `show`, `diff`, `bisect`, `graph`, `explain`, `tune`, `lib`, `stats`, `check-onnx`, `signature`, `weights`, `run` or `bench`",
            ),
            (
                "lsit",
                "there is no command `lsit`; expected `doctor`, `list`, `show`, `diff`, `bisect`, `graph`, `explain`, `tune`, `lib`, `stats`, `check-onnx`, `signature`, `weights`, `run` or `bench`",
            ),
            ("--json", "invalid option '--json'"),
            ("doctor --json", "`doctor` has no option `--json`"),
            ("list f", "`list` has no use for `f`"),
            ("show f g", "`show` has no use for `g`"),
            ("show", "the name of a function is missing; `cargo tenfold list` names them"),
            (
                "show --stage mir f",
                "there is no stage `mir`; expected one of `relax`, `tir`, `llvm`, `asm`, `c`, `spirv`, `ptx`",
            ),
            ("show f -x", "`show` has no option `-x`"),
            ("show f --after Pad", "there is no pass `Pad`; passes.md lists them"),
            (
                "show f --passes --timing",
                "only one of `--stage`, `--before`, `--after`, `--passes`, `--timing` and `--remarks` can be shown",
            ),
            ("diff f PadConv", "two passes are missing: `cargo tenfold diff FN PASS PASS`"),
            ("diff f PadConv PadCon", "there is no pass `PadCon`; a similar name is `PadConv`"),
            ("bisect f", "a command is missing: `cargo tenfold bisect FN -- COMMAND …`"),
            ("graph", "the name of a function is missing; `cargo tenfold list` names them"),
            ("graph f --json", "`graph` has no option `--json`"),
            ("explain", "the name of a function is missing; `cargo tenfold list` names them"),
            ("explain f --device llvm", "`llvm` is no device; write `--device spirv` or `--device nvptx:sm_80`"),
            ("explain f --gpu h100", "`--gpu` says which GPU a device is taken for: write `--device spirv` too"),
            (
                "explain f --device nvptx:sm_80 --gpu m1",
                "`m1` is no GPU that kernels for `nvptx -mcpu=sm_80` are estimated for; there are `a100`, `h100`",
            ),
            ("explain f --dim B", "write `--dim NAME=NUMBER`"),
            ("explain f --seconds 0", "it is measured for some time: write `--seconds 1`"),
            ("tune", "the name of a function is missing; `cargo tenfold list` names them"),
            ("tune f --trials 0", "some schedules are tried: write `--trials 64`"),
            ("tune f --seconds 0", "it is measured for some time: write `--seconds 1`"),
            ("tune f --json", "`tune` has no option `--json`"),
            ("lib", "the folder to write to is missing: `cargo tenfold lib --output DIR`"),
            ("list --package", "missing argument for option '--package'"),
        ];
        for (line, text) in cases {
            let error = read(line).expect_err(line);
            assert_eq!(error.lines().next(), Some(format!("error: {text}").as_str()), "{line}");
        }
    }
}
