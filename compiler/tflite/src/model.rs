//! A model as its file says it: tensors, operators, what goes in and out. Nothing of it is understood yet.

use crate::flat::{FlatError, Table};

/// A tensor of the file.
#[derive(Clone, Debug)]
pub(crate) struct Tensor<'a> {
    pub(crate) name: &'a str,
    /// Its extents; of one that is open, the number that files have in its place.
    pub(crate) shape: Vec<i64>,
    /// Its type, by the schema's number.
    pub(crate) code: u8,
    /// Its elements; none if an operator gives them.
    pub(crate) data: Option<&'a [u8]>,
    pub(crate) scales: Vec<f32>,
    pub(crate) zeros: Vec<i64>,
    /// The axis that several scales go along.
    pub(crate) axis: i32,
    /// Whether it keeps its elements from one run to the next.
    pub(crate) is_variable: bool,
    pub(crate) is_sparse: bool,
}

/// An operator of the file.
#[derive(Clone, Debug)]
pub(crate) struct Operator<'a> {
    /// Which one, by the schema's number.
    pub(crate) code: i32,
    /// Its name, if it is none of the schema's.
    pub(crate) custom: &'a str,
    /// Tensors by number; -1 is one that is left out.
    pub(crate) inputs: Vec<i32>,
    pub(crate) outputs: Vec<i32>,
    pub(crate) options: Option<Table<'a>>,
}

/// The graph of a file.
#[derive(Clone, Debug)]
pub(crate) struct Model<'a> {
    pub(crate) tensors: Vec<Tensor<'a>>,
    pub(crate) operators: Vec<Operator<'a>>,
    pub(crate) inputs: Vec<i32>,
    pub(crate) outputs: Vec<i32>,
}

/// The name of an operator that the schema does not have.
const CUSTOM: i32 = 32;

/// Reads a file.
pub(crate) fn model(bytes: &[u8]) -> Result<Model<'_>, FlatError> {
    let root = Table::root(bytes, *b"TFL3")?;
    let version = root.int(0, 0)?;
    if version != 3 {
        return Err(FlatError(format!("expected version 3 of the schema, found {version}")));
    }
    let codes = root.tables(1)?.into_iter().map(code).collect::<Result<Vec<_>, _>>()?;
    let buffers = root.tables(4)?;
    let graphs = root.tables(2)?;
    let graph = graphs.first().ok_or_else(|| FlatError("it has no graph".into()))?;
    let tensors = graph.tables(0)?.into_iter().map(|table| tensor(table, &buffers)).collect::<Result<Vec<_>, _>>()?;
    let operators = graph.tables(3)?.into_iter().map(|table| operator(table, &codes)).collect::<Result<Vec<_>, _>>()?;
    let model = Model { tensors, operators, inputs: graph.ints(1)?, outputs: graph.ints(2)? };
    let ports = model.inputs.iter().chain(&model.outputs).map(|at| (*at, false));
    let operands = model.operators.iter().flat_map(|op| op.inputs.iter().map(|at| (*at, true)));
    let results = model.operators.iter().flat_map(|op| op.outputs.iter().map(|at| (*at, false)));
    for (at, may_lack) in ports.chain(operands).chain(results) {
        let known = usize::try_from(at).is_ok_and(|at| at < model.tensors.len());
        let is_left_out = may_lack && at == -1;
        if !known && !is_left_out {
            return Err(FlatError(format!("it names tensor {at}, and has {}", model.tensors.len())));
        }
    }
    Ok(model)
}

/// An operator's number and its name if it has none. Numbers above 126 do not fit the field that older files have.
fn code(table: Table<'_>) -> Result<(i32, &str), FlatError> {
    let (old, new) = (i32::from(table.byte(0)? as i8), table.int(3, 0)?);
    let code = old.max(new);
    Ok((code, if code == CUSTOM { table.text(1)? } else { "" }))
}

fn tensor<'a>(table: Table<'a>, buffers: &[Table<'a>]) -> Result<Tensor<'a>, FlatError> {
    let name = table.text(3)?;
    let place = table.int(2, 0)?;
    let buffer = usize::try_from(place).ok().and_then(|place| buffers.get(place));
    let data = match buffer {
        // number 0 says that there is none
        _ if place == 0 => None,
        Some(buffer) => Some(elements(*buffer)?).filter(|data| !data.is_empty()),
        None => {
            return Err(FlatError(format!("tensor `{name}` names buffer {place}, and it has {}", buffers.len())));
        }
    };
    let quantization = table.table(4)?;
    let (scales, zeros, axis) = match quantization {
        Some(own) => (own.floats(2)?, own.longs(3)?, own.int(6, 0)?),
        None => (Vec::new(), Vec::new(), 0),
    };
    Ok(Tensor {
        name,
        shape: table.ints(0)?.into_iter().map(i64::from).collect(),
        code: table.byte(1)?,
        data,
        scales,
        zeros,
        axis,
        is_variable: table.byte(5)? != 0,
        is_sparse: table.table(6)?.is_some(),
    })
}

/// The bytes of a buffer, which in files of more than 2 GB stand behind the tables.
fn elements(buffer: Table<'_>) -> Result<&[u8], FlatError> {
    let (offset, size) = (buffer.long(1)?, buffer.long(2)?);
    if offset <= 1 {
        return buffer.data(0);
    }
    let begin = usize::try_from(offset).ok();
    let end = offset.checked_add(size).and_then(|end| usize::try_from(end).ok());
    begin.zip(end).and_then(|(begin, end)| buffer.file().get(begin..end)).ok_or_else(|| {
        FlatError(format!(
            "a buffer of {size} bytes at byte {offset} lies outside of its {} bytes",
            buffer.file().len()
        ))
    })
}

fn operator<'a>(table: Table<'a>, codes: &[(i32, &'a str)]) -> Result<Operator<'a>, FlatError> {
    let at = table.int(0, 0)?;
    let code = usize::try_from(at).ok().and_then(|at| codes.get(at)).copied();
    let Some((code, custom)) = code else {
        return Err(FlatError(format!("an operator has kind {at}, and it has {} kinds", codes.len())));
    };
    let (inputs, outputs) = (table.ints(1)?, table.ints(2)?);
    Ok(Operator { code, custom, inputs, outputs, options: table.table(4)? })
}
