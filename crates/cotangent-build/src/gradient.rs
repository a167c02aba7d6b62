//! What derivative of a function is wanted.

use cotangent::transform::RecordBudget;
use cotangent_driver::derivative::Wanted;

use crate::error::Error;

/// A derivative of a function, as it is wanted. [`Gradient::of`] is the plain one, with respect to all that can be named.
///
/// ```
/// use cotangent_build::Gradient;
///
/// let of_all = Gradient::of("blur");
/// let of_two = Gradient::of("blur").wrt("image, out").pure();
/// assert_ne!(of_all, of_two);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct Gradient {
    pub(crate) function: String,
    wrt: Option<Vec<String>>,
    split: Option<Vec<String>>,
    record_slots: Option<u32>,
    record_budget: Option<String>,
    wide_adjoints: bool,
    is_deterministic: bool,
    is_pure: bool,
    is_of_device: bool,
}

impl Gradient {
    /// The gradient of a function, which is named as in C++: `blur`, `image::blur<float, 3>`.
    pub fn of(function: impl Into<String>) -> Gradient {
        Gradient {
            function: function.into(),
            wrt: None,
            split: None,
            record_slots: None,
            record_budget: None,
            wide_adjoints: false,
            is_deterministic: false,
            is_pure: false,
            is_of_device: false,
        }
    }

    /// Only with respect to these parameters, inputs and outputs, with commas between them. Their adjoints follow the function's own
    /// parameters in this order.
    pub fn wrt(self, parameters: &str) -> Gradient {
        Gradient { wrt: Some(listed(parameters)), ..self }
    }

    /// In two functions, of which the second runs later. Memory that the parameters in `saved` lead to may change between them.
    pub fn split(self, saved: &str) -> Gradient {
        Gradient { split: Some(listed(saved)), ..self }
    }

    /// The form that frameworks want: cotangents stay as they are, and gradients are written, not added to.
    pub fn pure(self) -> Gradient {
        Gradient { is_pure: true, ..self }
    }

    /// What runs on the device alone, without a header, for NVRTC.
    pub fn for_nvrtc(self) -> Gradient {
        Gradient { is_of_device: true, ..self }
    }

    /// The same bits in every run; what cannot give them is refused.
    pub fn deterministic(self) -> Gradient {
        Gradient { is_deterministic: true, ..self }
    }

    /// Adjoints of arrays of half precision are `float`.
    pub fn wide_adjoints(self) -> Gradient {
        Gradient { wide_adjoints: true, ..self }
    }

    /// How many slots a thread's record has, where they are not counted.
    pub fn record_slots(self, slots: u32) -> Gradient {
        Gradient { record_slots: Some(slots), ..self }
    }

    /// How much a thread may record for an iteration of a loop, as `--record-budget` has it: `16`, `none`.
    pub fn record_budget(self, budget: impl Into<String>) -> Gradient {
        Gradient { record_budget: Some(budget.into()), ..self }
    }

    /// Whether it is in two functions.
    pub(crate) fn is_split(&self) -> bool {
        self.split.is_some()
    }

    /// The same as the driver takes it.
    pub(crate) fn wanted(&self) -> Result<Wanted<'_>, Error> {
        let budget = self.record_budget.as_deref().map(str::parse::<RecordBudget>).transpose();
        Ok(Wanted {
            split: self.split.as_deref(),
            record_slots: self.record_slots,
            record_budget: budget.map_err(|error| Error::Request(error.to_string()))?,
            wide_adjoints: self.wide_adjoints,
            is_deterministic: self.is_deterministic,
            is_pure: self.is_pure,
            is_of_device: self.is_of_device,
            ..Wanted::new(&self.function, self.wrt.as_deref())
        })
    }
}

/// The plain gradient of the function of this name.
impl From<&str> for Gradient {
    fn from(function: &str) -> Gradient {
        Gradient::of(function)
    }
}

fn listed(names: &str) -> Vec<String> {
    names.split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect()
}
