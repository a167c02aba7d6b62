//! The C ABI of checkpoint schedules. The first error stays with its schedule: from then on every call gives it, and there is
//! no action.

use std::mem::offset_of;
use std::num::NonZeroUsize;

use super::{Fallible, close, give, on};
use crate::error::Error;
use crate::schedule::{Action, Costs, Level, Mixed, Online, Revolve, Schedule, TwoLevel};

/// `cotangent_schedule`: any kind, and its first error.
pub struct AnySchedule {
    schedule: Box<dyn Schedule>,
    error: Option<Error>,
}

impl Fallible for AnySchedule {
    fn fail(&mut self, error: Error) {
        self.error.get_or_insert(error);
    }
}

/// `cotangent_schedule_options`.
#[repr(C)]
pub struct CScheduleOptions {
    kind: u32,
    steps: u64,
    slots: usize,
    disk_slots: usize,
    costs: CCosts,
}

/// `cotangent_costs`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CCosts {
    memory_write: f64,
    memory_read: f64,
    disk_write: f64,
    disk_read: f64,
}

impl From<CCosts> for Costs {
    fn from(costs: CCosts) -> Self {
        let CCosts { memory_write, memory_read, disk_write, disk_read } = costs;
        Costs { memory_write, memory_read, disk_write, disk_read }
    }
}

/// `cotangent_action`. What a kind of action does not have is zero.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct CAction {
    kind: u32,
    level: u32,
    slot: usize,
    step: u64,
    to: u64,
}

const REVOLVE: u32 = 1;
const ONLINE: u32 = 2;
const MIXED: u32 = 3;
const TWO_LEVEL: u32 = 4;

const END: u32 = 0;
const STORE: u32 = 1;
const RESTORE: u32 = 2;
const ADVANCE: u32 = 3;
const REVERSE: u32 = 4;
const FREE: u32 = 5;
const STORE_RECORD: u32 = 6;
const REVERSE_RECORD: u32 = 7;

const MEMORY: u32 = 0;
const DISK: u32 = 1;

impl From<Action> for CAction {
    fn from(action: Action) -> Self {
        let slot = |kind, step, level, slot| CAction { kind, level: number(level), slot, step, to: 0 };
        match action {
            Action::Store { step, level, slot: of } => slot(STORE, step, level, of),
            Action::Restore { step, level, slot: of } => slot(RESTORE, step, level, of),
            Action::Advance { from, to } => CAction { kind: ADVANCE, step: from, to, ..CAction::default() },
            Action::Reverse { step } => CAction { kind: REVERSE, step, ..CAction::default() },
            Action::Free { level, slot: of } => slot(FREE, 0, level, of),
            Action::StoreRecord { step, level, slot: of } => slot(STORE_RECORD, step, level, of),
            Action::ReverseRecord { step, level, slot: of } => slot(REVERSE_RECORD, step, level, of),
        }
    }
}

fn number(level: Level) -> u32 {
    match level {
        Level::Memory => MEMORY,
        Level::Disk => DISK,
    }
}

/// Opens a schedule.
///
/// # Safety
/// `options` is null or leads to options; `schedule` leads to a place for the result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cotangent_schedule_open(
    options: *const CScheduleOptions,
    schedule: *mut *mut AnySchedule,
) -> u32 {
    let open = || {
        // SAFETY: promised by the caller.
        let options = unsafe { options.as_ref() }.ok_or(Error::Slots)?;
        Ok(AnySchedule { schedule: of_kind(options)?, error: None })
    };
    // SAFETY: promised by the caller.
    unsafe { give(open, schedule) }
}

fn of_kind(options: &CScheduleOptions) -> Result<Box<dyn Schedule>, Error> {
    let CScheduleOptions { kind, steps, slots: count, disk_slots, costs } = *options;
    let slots = NonZeroUsize::new(count).ok_or(Error::Slots);
    // What a kind does not have is zero: whoever states it wants another kind.
    let is_plain = disk_slots == 0 && Costs::from(costs) == Costs::default();
    match kind {
        REVOLVE if is_plain => Ok(Box::new(Revolve::new(steps, slots?))),
        ONLINE if is_plain && steps == 0 => Ok(Box::new(Online::new(slots?))),
        MIXED if is_plain => Ok(Box::new(Mixed::new(steps, slots?))),
        TWO_LEVEL => Ok(Box::new(TwoLevel::new(steps, count, disk_slots, costs.into())?)),
        _ => Err(Error::Slots),
    }
}

/// Closes a schedule, at its end or before.
///
/// # Safety
/// `schedule` is null, or was opened and not closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cotangent_schedule_close(schedule: *mut AnySchedule) {
    // SAFETY: `open` made it a box.
    unsafe { close(schedule) }
}

/// The next action. After the last one, and with an error, that is END.
///
/// # Safety
/// `schedule` is null or open and used by this thread only; `action` leads to a place for the result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cotangent_schedule_next(schedule: *mut AnySchedule, action: *mut CAction) -> u32 {
    let next = |any: &mut AnySchedule| match any.error {
        Some(error) => Err(error),
        None => Ok(any.schedule.next().map_or(CAction::default(), CAction::from)),
    };
    // SAFETY: promised by the caller.
    let (next, code) = match unsafe { on(schedule, Err(otherwise(schedule)), next) } {
        Ok(next) => (next, 0),
        Err(error) => (CAction { kind: END, ..CAction::default() }, error.code()),
    };
    // SAFETY: promised by the caller.
    unsafe { *action = next };
    code
}

/// Tells a schedule that asked for it that the loop has ended.
///
/// # Safety
/// `schedule` is null or open and used by this thread only.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cotangent_schedule_ended(schedule: *mut AnySchedule, steps: u64) -> u32 {
    let ended = |any: &mut AnySchedule| {
        if any.error.is_none() {
            any.error = any.schedule.ended(steps).err();
        }
        any.error.map_or(0, Error::code)
    };
    // SAFETY: promised by the caller.
    unsafe { on(schedule, otherwise(schedule).code(), ended) }
}

/// The error of what is no schedule, or has just panicked.
fn otherwise(schedule: *mut AnySchedule) -> Error {
    if schedule.is_null() { Error::Empty } else { Error::Panicked }
}

/// How many slots of a level are in use at most; none of a level that does not exist.
///
/// # Safety
/// `schedule` is null or open and used by this thread only.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cotangent_schedule_slots(schedule: *mut AnySchedule, level: u32) -> usize {
    let slots = |any: &mut AnySchedule| {
        let level = [Level::Memory, Level::Disk].into_iter().find(|each| number(*each) == level);
        level.map_or(0, |level| any.schedule.slots(level))
    };
    // SAFETY: promised by the caller.
    unsafe { on(schedule, 0, slots) }
}

/// As `super::layout`.
pub(super) fn layout() -> Vec<(&'static str, usize)> {
    vec![
        ("sizeof(cotangent_schedule_options)", size_of::<CScheduleOptions>()),
        ("offsetof(cotangent_schedule_options, kind)", offset_of!(CScheduleOptions, kind)),
        ("offsetof(cotangent_schedule_options, steps)", offset_of!(CScheduleOptions, steps)),
        ("offsetof(cotangent_schedule_options, slots)", offset_of!(CScheduleOptions, slots)),
        ("offsetof(cotangent_schedule_options, disk_slots)", offset_of!(CScheduleOptions, disk_slots)),
        ("offsetof(cotangent_schedule_options, costs)", offset_of!(CScheduleOptions, costs)),
        ("sizeof(cotangent_costs)", size_of::<CCosts>()),
        ("offsetof(cotangent_costs, memory_write)", offset_of!(CCosts, memory_write)),
        ("offsetof(cotangent_costs, memory_read)", offset_of!(CCosts, memory_read)),
        ("offsetof(cotangent_costs, disk_write)", offset_of!(CCosts, disk_write)),
        ("offsetof(cotangent_costs, disk_read)", offset_of!(CCosts, disk_read)),
        ("sizeof(cotangent_action)", size_of::<CAction>()),
        ("offsetof(cotangent_action, kind)", offset_of!(CAction, kind)),
        ("offsetof(cotangent_action, level)", offset_of!(CAction, level)),
        ("offsetof(cotangent_action, slot)", offset_of!(CAction, slot)),
        ("offsetof(cotangent_action, step)", offset_of!(CAction, step)),
        ("offsetof(cotangent_action, to)", offset_of!(CAction, to)),
        ("COTANGENT_SCHEDULE_REVOLVE", REVOLVE as usize),
        ("COTANGENT_SCHEDULE_ONLINE", ONLINE as usize),
        ("COTANGENT_SCHEDULE_MIXED", MIXED as usize),
        ("COTANGENT_SCHEDULE_TWO_LEVEL", TWO_LEVEL as usize),
        ("COTANGENT_ACTION_END", END as usize),
        ("COTANGENT_ACTION_STORE", STORE as usize),
        ("COTANGENT_ACTION_RESTORE", RESTORE as usize),
        ("COTANGENT_ACTION_ADVANCE", ADVANCE as usize),
        ("COTANGENT_ACTION_REVERSE", REVERSE as usize),
        ("COTANGENT_ACTION_FREE", FREE as usize),
        ("COTANGENT_ACTION_STORE_RECORD", STORE_RECORD as usize),
        ("COTANGENT_ACTION_REVERSE_RECORD", REVERSE_RECORD as usize),
        ("COTANGENT_LEVEL_MEMORY", MEMORY as usize),
        ("COTANGENT_LEVEL_DISK", DISK as usize),
        ("COTANGENT_TAPE_SLOTS", Error::Slots.code() as usize),
        ("COTANGENT_TAPE_ENDED", Error::Ended.code() as usize),
        ("COTANGENT_TAPE_RECORD", Error::Record.code() as usize),
    ]
}
