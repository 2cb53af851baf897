//! Which columns have the ids and the texts, and what is in them.

use parquet::basic::{ConvertedType, LogicalType, Repetition, Type as Physical};
use parquet::schema::types::{SchemaDescriptor, Type};

use crate::input::fingerprints::shown;
use crate::input::jsonl::Fields;
use crate::input::rows::{column, some_of};

/// The columns that are read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Columns {
    pub(super) id: Option<Column>,
    pub(super) text: Column,
}

/// A column that is not nested.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    /// Its place among the columns of a row group.
    pub(super) index: usize,
    pub(super) values: Values,
}

/// What the values of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Values {
    /// Texts in UTF-8, or bytes that may be.
    Texts,
    Int32,
    UInt32,
    Int64,
    UInt64,
}

impl Columns {
    /// Finds the columns by their names; says the reason and the remedy where they are not there, or have other values.
    pub(super) fn find(schema: &SchemaDescriptor, fields: &Fields) -> Result<Self, (String, &'static str)> {
        let find = |name: &str, is_id, remedy| find(schema, name, is_id).map_err(|reason| (reason, remedy));
        let remedy = "name the column with --id-field, or take --line-ids";
        let id = fields.id.as_deref().map(|id| find(id, true, remedy)).transpose()?;
        let text = find(&fields.text, false, "name the column with --text-field or --html-field")?;
        Ok(Self { id, text })
    }
}

fn find(schema: &SchemaDescriptor, name: &str, is_id: bool) -> Result<Column, String> {
    let fields = schema.root_schema().get_fields();
    let names: Vec<&[u8]> = fields.iter().map(|field| field.name().as_bytes()).collect();
    let field = &fields[column(&names, name)?];
    let (wanted, values) = if is_id {
        ("strings or whole numbers", texts(field).or_else(|| integers(field)))
    } else {
        ("strings", texts(field))
    };
    let index = schema.columns().iter().position(|leaf| matches!(leaf.path().parts(), [part] if part == name));
    if let (Some(values), Some(index)) = (values, index) {
        return Ok(Column { index, values });
    }
    let kinds = some_of(fields.iter().map(|field| format!("{} ({})", shown(field.name().as_bytes()), kind(field))));
    Err(format!("the column {name:?} has {} instead of {wanted}; there are {kinds}", kind(field)))
}

fn physical(field: &Type) -> Option<Physical> {
    let info = field.get_basic_info();
    let is_repeated = info.has_repetition() && info.repetition() == Repetition::REPEATED;
    (field.is_primitive() && !is_repeated).then(|| field.get_physical_type())
}

fn texts(field: &Type) -> Option<Values> {
    use ConvertedType::{ENUM, JSON, NONE, UTF8};
    let info = field.get_basic_info();
    let is_text = match info.logical_type_ref() {
        Some(LogicalType::String | LogicalType::Enum | LogicalType::Json) => true,
        Some(_) => false,
        None => matches!(info.converted_type(), NONE | UTF8 | ENUM | JSON),
    };
    (physical(field)? == Physical::BYTE_ARRAY && is_text).then_some(Values::Texts)
}

fn integers(field: &Type) -> Option<Values> {
    use ConvertedType::{INT_8, INT_16, INT_32, INT_64, NONE, UINT_8, UINT_16, UINT_32, UINT_64};
    let info = field.get_basic_info();
    let is_signed = match (info.logical_type_ref(), info.converted_type()) {
        (Some(LogicalType::Integer(kind)), _) => kind.is_signed,
        (None, NONE | INT_8 | INT_16 | INT_32 | INT_64) => true,
        (None, UINT_8 | UINT_16 | UINT_32 | UINT_64) => false,
        _ => return None,
    };
    match (physical(field)?, is_signed) {
        (Physical::INT32, true) => Some(Values::Int32),
        (Physical::INT32, false) => Some(Values::UInt32),
        (Physical::INT64, true) => Some(Values::Int64),
        (Physical::INT64, false) => Some(Values::UInt64),
        _ => None,
    }
}

/// What a column has, in words.
fn kind(field: &Type) -> &'static str {
    let Some(physical) = physical(field) else { return "nested values" };
    if texts(field).is_some() {
        return "strings";
    }
    if integers(field).is_some() {
        return "whole numbers";
    }
    match physical {
        Physical::BOOLEAN => "truth values",
        Physical::FLOAT | Physical::DOUBLE => "numbers",
        Physical::INT32 | Physical::INT64 | Physical::INT96 => "times or decimal numbers",
        Physical::BYTE_ARRAY | Physical::FIXED_LEN_BYTE_ARRAY => "bytes of another kind",
    }
}
