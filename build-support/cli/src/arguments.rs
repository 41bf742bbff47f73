//! The command line.

use crate::help;
use lexopt::{Arg, Parser};
use std::ffi::OsString;
use std::path::PathBuf;
use tenfold_core::Stage;

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
        stage: Stage,
        /// Which function.
        function: String,
    },
}

/// What a command line comes to.
#[derive(Debug, PartialEq)]
pub(crate) enum Parsed {
    /// Do this.
    Run(Arguments),
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
}

impl Name {
    const ALL: [Self; 3] = [Self::Doctor, Self::List, Self::Show];

    fn text(self) -> &'static str {
        match self {
            Self::Doctor => "doctor",
            Self::List => "list",
            Self::Show => "show",
        }
    }

    fn help(self) -> &'static str {
        match self {
            Self::Doctor => help::DOCTOR,
            Self::List => help::LIST,
            Self::Show => help::SHOW,
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
    stage: Option<Stage>,
    function: Option<String>,
    json: bool,
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
                (Arg::Value(name), Some(Name::Show)) if self.rest.function.is_none() => {
                    self.rest.function = Some(name.string().map_err(text)?);
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
        let compiles = matches!(name, Name::List | Name::Show);
        match argument {
            Argument::Short('p') => rest.package = Some(value()?),
            Argument::Short('F') if compiles => rest.features.add(&value()?),
            Argument::Short('s') if name == Name::Show => rest.stage = Some(stage(&value()?)?),
            Argument::Long(long) => match long.as_str() {
                "package" => rest.package = Some(value()?),
                "manifest-path" => rest.manifest = Some(parser.value().map_err(text)?.into()),
                "target" => rest.target = Some(value()?),
                "features" if compiles => rest.features.add(&value()?),
                "all-features" if compiles => rest.features.all = true,
                "no-default-features" if compiles => rest.features.no_default = true,
                "stage" if name == Name::Show => rest.stage = Some(stage(&value()?)?),
                "json" if name == Name::List => rest.json = true,
                _ => return Err(argument.unexpected(name)),
            },
            Argument::Short(_) | Argument::Value(_) => return Err(argument.unexpected(name)),
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<Parsed, String> {
        let rest = std::mem::take(&mut self.rest);
        let command = match self.command {
            None => return Err("a command is missing; expected `doctor`, `list` or `show`".into()),
            Some(Name::Doctor) => Command::Doctor,
            Some(Name::List) => Command::List { json: rest.json },
            Some(Name::Show) => Command::Show {
                stage: rest.stage.unwrap_or(Stage::Tir),
                function: rest.function.ok_or("the name of a function is missing; `cargo tenfold list` names them")?,
            },
        };
        let Rest { package, manifest, target, features, .. } = rest;
        Ok(Parsed::Run(Arguments { command, package, manifest, target, features }))
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

fn text(error: lexopt::Error) -> String {
    error.to_string()
}

fn command(name: &str) -> Result<Name, String> {
    let found = Name::ALL.into_iter().find(|known| known.text() == name);
    found.ok_or_else(|| format!("there is no command `{name}`; expected `doctor`, `list` or `show`"))
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
            Ok(Parsed::Run(arguments)) => arguments,
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
        let show = Command::Show { stage: Stage::Asm, function: "nn::mlp".into() };
        for line in ["show --stage asm nn::mlp", "show --stage=asm nn::mlp", "show nn::mlp -sasm"] {
            assert_eq!(run(line).command, show, "{line}");
        }
        assert_eq!(run("show f").command, Command::Show { stage: Stage::Tir, function: "f".into() });
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
            ("", "a command is missing; expected `doctor`, `list` or `show`"),
            ("lsit", "there is no command `lsit`; expected `doctor`, `list` or `show`"),
            ("--json", "invalid option '--json'"),
            ("doctor --json", "`doctor` has no option `--json`"),
            ("list f", "`list` has no use for `f`"),
            ("show f g", "`show` has no use for `g`"),
            ("show", "the name of a function is missing; `cargo tenfold list` names them"),
            ("show --stage mir f", "there is no stage `mir`; expected one of `relax`, `tir`, `llvm`, `asm`, `c`"),
            ("show f -x", "`show` has no option `-x`"),
            ("list --package", "missing argument for option '--package'"),
        ];
        for (line, text) in cases {
            let error = read(line).expect_err(line);
            assert_eq!(error.lines().next(), Some(format!("error: {text}").as_str()), "{line}");
        }
    }
}
