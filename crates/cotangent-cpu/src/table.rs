//! The table of functions that a program is given: each with the function here that does it. Above all of them, so that
//! none need know who calls it.

use std::sync::OnceLock;

use crate::abi::{ABI_VERSION, Api};
use crate::runtime::{self, Config};
use crate::{arena, device, error, event, in_kernel, launch, memory, report};

static API: OnceLock<Api> = OnceLock::new();

/// Sets up the runtime of this process, and gives its functions. The first configuration stays.
pub(crate) fn start(config: Config) -> &'static Api {
    let runtime = runtime::set_up(config);
    API.get_or_init(|| build(runtime.config.check))
}

fn build(checking: bool) -> Api {
    Api {
        version: ABI_VERSION,
        checking: u32::from(checking),
        launch: launch::launch,
        dynamic_shared: runtime::dynamic_shared,
        barrier: in_kernel::barrier,
        collective: in_kernel::collective,
        active_mask: in_kernel::active_mask,
        assert_failed: in_kernel::assert_failed,
        trap: in_kernel::trap,
        allocate: memory::allocate,
        release: memory::release,
        copy: memory::copy,
        fill: memory::fill,
        prefetch: memory::prefetch,
        symbol: memory::symbol,
        pointer: memory::pointer,
        memory_info: device::memory_info,
        stream_create: event::stream_create,
        stream_destroy: event::stream_destroy,
        stream_synchronize: event::stream_synchronize,
        event_create: event::event_create,
        event_destroy: event::event_destroy,
        event_record: event::event_record,
        event_synchronize: event::event_synchronize,
        event_elapsed: event::event_elapsed,
        device_synchronize: event::device_synchronize,
        stream_wait: event::stream_wait,
        host_function: event::host_function,
        function_shared_limit: launch::function_shared_limit,
        peek_error: error::peek_error,
        take_error: error::take_error,
        set_error: error::set_error,
        error_name: error::error_name,
        error_text: error::error_text,
        terminated: report::terminated,
        access: in_kernel::access,
        access_copy: in_kernel::access_copy,
        device_begin: if checking { arena::range().start as u64 } else { 0 },
        device_bytes: if checking { arena::range().len() as u64 } else { 0 },
    }
}
