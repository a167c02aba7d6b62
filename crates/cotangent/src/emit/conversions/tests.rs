//! The rules against a table of all pairs of arithmetic types.
//!
//! Each line of the table has two types, `decltype(a + b)`, the type of `c ? a : b`, and whether the second type can
//! be initialised in braces from the first, all as Clang 19 says for x86-64 Linux, which CUDA's types follow.

use super::*;

const TABLE: &str = include_str!("clang_19_x86_64.txt");

fn named(name: &str) -> Type {
    match name {
        "bool" => Type::Bool,
        "char" => Type::Int(IntKind::Char),
        "schar" => Type::Int(IntKind::SignedChar),
        "uchar" => Type::Int(IntKind::UnsignedChar),
        "short" => Type::Int(IntKind::Short),
        "ushort" => Type::Int(IntKind::UnsignedShort),
        "int" => Type::INT,
        "uint" => Type::UINT,
        "long" => Type::LONG,
        "ulong" => Type::SIZE,
        "llong" => Type::Int(IntKind::LongLong),
        "ullong" => Type::Int(IntKind::UnsignedLongLong),
        "float" => Type::FLOAT,
        "double" => Type::DOUBLE,
        other => panic!("the table names an unknown type {other}"),
    }
}

#[test]
fn agree_with_clang_for_all_pairs() {
    let mut pairs = 0;
    for line in TABLE.lines() {
        let [left, right, sum, branch, braces] = line.split(' ').collect::<Vec<_>>()[..] else {
            panic!("five words a line: {line}");
        };
        let (left, right) = (named(left), named(right));
        assert_eq!(common(&left, &right), Some(named(sum)), "{line}");
        assert_eq!(common_of_branches(&left, &right), Some(named(branch)), "{line}");
        assert_eq!(is_narrowing(&left, &right), braces == "narrows", "{line}");
        assert!(is_implicit(&left, &right), "{line}");
        pairs += 1;
    }
    assert_eq!(pairs, 14 * 14);
}

#[test]
fn promotion_is_the_sum_with_itself() {
    for line in TABLE.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        if words[0] == words[1] {
            assert_eq!(promoted(&named(words[0])), named(words[2]), "{line}");
        }
    }
}

#[test]
fn half_converts_to_nothing_unasked() {
    let half = Type::Float(FloatKind::Half);
    assert_eq!(common(&half, &half), Some(half.clone()));
    assert_eq!(common(&half, &Type::FLOAT), None);
    assert!(!is_implicit(&half, &Type::FLOAT));
    assert!(!is_implicit(&Type::INT, &half));
}

#[test]
fn pointers_gain_qualifiers_and_become_void_unasked() {
    let plain = Type::pointer(Type::FLOAT);
    let qualified = |is_const, is_restrict| {
        Type::Pointer(Box::new(PointerType {
            pointee: Type::FLOAT,
            is_const,
            is_restrict,
            is_volatile: false,
            is_reference: false,
        }))
    };
    assert!(is_implicit(&plain, &qualified(true, false)));
    assert!(!is_implicit(&qualified(true, false), &plain));
    assert!(is_implicit(&plain, &Type::pointer(Type::Void)));
    assert!(!is_implicit(&Type::pointer(Type::Void), &plain));
    assert!(!is_implicit(&plain, &Type::reference(Type::FLOAT)));
    assert!(is_same_value_type(&plain, &qualified(false, true)));
    assert!(!is_same_value_type(&plain, &qualified(true, true)));
}
