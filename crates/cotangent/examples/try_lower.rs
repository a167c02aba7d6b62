use std::io::Read;
fn main() {
    std::thread::Builder::new()
        .stack_size(512 << 20)
        .spawn(|| {
            let mut json = Vec::new();
            std::io::stdin().read_to_end(&mut json).unwrap();
            let mut sieve = cotangent::clang::Sieve::new(cotangent::clang::is_not_system);
            sieve.push(&json);
            let mut ast = cotangent::clang::read(&sieve.finish()).unwrap();
            for f in ast.sources.files.iter_mut() {
                f.text = std::fs::read_to_string(&*f.name).ok().map(Into::into);
            }
            let args: Vec<String> = std::env::args().skip(1).collect();
            let args: Vec<&str> = args.iter().map(String::as_str).collect();
            match cotangent::lower::lower(cotangent::lower::Passes { device: &ast, host: Some(&ast) }, &args) {
                Ok(m) => {
                    println!("{}", cotangent::ir::text::print(&m));
                    if let Err(v) = cotangent::ir::validate::validate(&m) {
                        println!("INVALID {v:#?}");
                    }
                }
                Err(d) => println!("{}", cotangent::diagnostic::render(&d, &ast.sources, false)),
            }
        })
        .unwrap()
        .join()
        .unwrap();
}
