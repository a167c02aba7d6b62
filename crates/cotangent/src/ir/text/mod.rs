//! The text form of the IR: what `print` writes, `parse` reads back as the same module.
//!
//! ```text
//! builtin record float3 { x: float, y: float, z: float }
//! constant coeffs: float[16];
//!
//! kernel saxpy(n: int, a: float, x: const float* restrict, y: float*) bounds 256, 2 {
//!   let i: int = (((blockIdx.x * blockDim.x) + threadIdx.x) as int);
//!   if (i >= n) {
//!     return;
//!   }
//!   y[i] = ((a * x[i]) + y[i]);
//! }
//! ```
//!
//! White space and comments (`//` to the end of the line) only separate. `a?` is at most one, `a*` any number,
//! `a,*` any number with commas between.
//!
//! ```text
//! module  = item*
//! item    = builtin? record NAME (align INT)? { (NAME: type),* }
//!         | (device|constant|managed|constexpr|host) NAME: type (align INT)? (= expr)? ;
//!         | (kernel|device|host) NAME(local,*) (-> type)? (bounds INT (, INT)?)? extern?
//!           { (unused local;)* stmt* }
//!         | rule NAME: (pullback NAME | split NAME, NAME | constant | pushforward NAME) ;
//! local   = (shared|dynamic)? NAME (#INT)? : type (align INT)?
//! type    = quals base (*|& restrict? | [INT] | quals)*        quals = const? volatile?
//! base    = void | bool | float | unsigned int | … | NAME of a record | opaque NAME
//! stmt    = let local (= expr)? ;            | place = expr ;   | place += expr ;             (+= is Accumulate)
//!         | if expr block (else if …)* (else block)?
//!         | for local = expr; NAME OP expr; NAME OP= expr block
//!         | while expr block                 | do block while expr ;
//!         | switch expr { (case (INT|default),* block)* }
//!         | break ; | continue ; | return expr? ;
//!         | launch NAME<<<[expr, expr, expr], [expr, expr, expr] (, shared: expr)? (, stream: expr)?>>>(expr,*) ;
//!         | push expr to NAME ;              | pop place from NAME ;
//!         | (place =)? call NAME(expr,*) ;   | (place =)? runtime NAME(expr,*) ;
//!         | (place =)? (opaque NAME | passed | unread meeting? STRING)((expr|STRING|changed place),*) ;
//!         | (place =)? barrier KIND ((expr))? ;
//!         | (place =)? atomic (block|system|anywhere)? OP(place, (compare,)? value) ;
//!         | (place =)? collective OP ([mask])? (expr,*) ;
//! block   = { stmt* }
//! expr    = (expr OP expr) | (expr ? expr : expr) | (expr as type) | -expr | !expr | ~expr
//!         | & const? volatile? restrict? ref? place | place
//!         | NAME (::<type>)? (expr,*)        (Math; the type is left out if it is the first argument's)
//!         | make type(expr,*) | null(type) | sizeof(type) | threadIdx.x | warpSize | true | false | NUMBER
//! place   = NAME | *expr | expr[expr] | place.NAME | expr->NAME | (place)
//! ```
//!
//! - `pointer[i]` is an `Element`, `array[i]` an `Index`; `*p` is `p[0]` and `p->f` is `(*p).f`. `+` and `-` of
//!   pointers are `Offset` and `Distance`.
//! - A type reads from left to right, `float*[4]` is an array of pointers; only a run of arrays is as in C++:
//!   `float[8][3]` has eight rows. `const` and `volatile` belong to the next `*` or `&`.
//! - A number's suffix is its type: none for `int` and `double`, `u l ul ll ull c sc uc s us` for other integers,
//!   `f h bf` for other floats, which have a fraction or an exponent. `inf inff infh infbf` are infinities; `0x`,
//!   sixteen digits and a suffix are the bits of the double, for NaN. `-5` is a constant, `-(5)` a negated one.
//! - A NAME is a C++ name with its namespaces, or anything in backticks (`` `if` ``), where `\` escapes as in strings:
//!   `\n \t \r \\ \" \u{hex}`. Keywords are names only in backticks.
//! - Locals are numbered in the order of declaration. A local that has another number says so (`x#7`): one that says
//!   nothing has the lowest number still free. `unused` lists the locals that no statement declares.
//! - Spans are not written; what is parsed has none.

mod lex;
mod parse;
mod parse_expr;
mod parse_stmt;
mod print;
mod print_expr;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
mod words;

use super::{Function, Module, Place, Stmt, Type};

/// Why a text is no module.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{line}:{column}: {message}")]
pub struct ParseError {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// What was expected, and what was found.
    pub message: String,
}

/// Writes a module.
pub fn print(module: &Module) -> String {
    let mut printer = print::Printer::new(module, None);
    printer.module();
    printer.out
}

/// Writes a type.
pub fn print_type(module: &Module, ty: &Type) -> String {
    let mut out = String::new();
    print_expr::push_type(&mut out, module, ty);
    out
}

/// Writes a statement of a function, without the numbers of its locals.
pub fn print_stmt(module: &Module, function: &Function, stmt: &Stmt) -> String {
    let mut printer = print::Printer::new(module, Some(function));
    printer.stmt(stmt);
    printer.out
}

/// Writes a place of a function.
pub fn print_place(module: &Module, function: &Function, place: &Place) -> String {
    let mut printer = print::Printer::new(module, Some(function));
    printer.place(place);
    printer.out
}

/// Reads a module. It need not be valid, only well-formed: names are known, and what is indexed can be.
pub fn parse(text: &str) -> Result<Module, ParseError> {
    parse::Parser::new(text)?.module()
}
