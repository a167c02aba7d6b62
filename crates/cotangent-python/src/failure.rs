//! Failures of the compiler as the package's exceptions.

use cotangent::diagnostic::Located;
use cotangent_driver::program::Failure;
use cotangent_driver::{Blame, DriverError};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The exception of a failure.
pub(crate) fn raised(py: Python<'_>, failure: &Failure) -> PyErr {
    exception(py, failure).unwrap_or_else(|error| error)
}

/// A word that does not mean anything.
pub(crate) fn invalid(error: impl ToString) -> PyErr {
    PyValueError::new_err(error.to_string())
}

fn exception(py: Python<'_>, failure: &Failure) -> PyResult<PyErr> {
    let errors = py.import("cotangent_cuda.errors")?;
    let of_kind = |kind: &str, message: String| Ok(PyErr::from_value(errors.getattr(kind)?.call1((message,))?));
    match failure {
        Failure::Diagnostics(refusal) => {
            let finding = errors.getattr("Finding")?;
            let found = refusal.found.iter().map(|found| finding.call1(fields(found)));
            let found = found.collect::<PyResult<Vec<_>>>()?;
            Ok(PyErr::from_value(errors.getattr("Refused")?.call1((refusal.text.trim_end(), found))?))
        }
        Failure::Driver(DriverError::Rejected { message }) => of_kind("ProgramError", message.trim_end().to_owned()),
        Failure::Driver(
            DriverError::ClangMissing
            | DriverError::ClangVersion { .. }
            | DriverError::NvccMissing
            | DriverError::CudartMissing { .. },
        ) => of_kind("ToolMissing", failure.to_string()),
        Failure::Driver(_) | Failure::Read(_) => match failure.blame() {
            Blame::Program => of_kind("ProgramError", failure.to_string()),
            Blame::Usage => of_kind("InvalidRequest", failure.to_string()),
            Blame::Environment => of_kind("CotangentError", failure.to_string()),
        },
    }
}

/// What `Finding` is made of, in its order.
type Fields<'f> = (&'f str, &'f str, Option<&'f str>, Option<usize>, Option<usize>, &'f str, Option<&'f str>);

fn fields(found: &Located) -> Fields<'_> {
    let Located { code, message, file, line, column, label, help } = found;
    (code, message, file.as_deref(), *line, *column, label, help.as_deref())
}
