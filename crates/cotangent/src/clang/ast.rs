//! The part of Clang's tree that this compiler reads, as plain data.
//!
//! One node type with optional attributes: Clang has some three hundred kinds of nodes, and which attributes one has
//! is best said where it is lowered.

use std::ops::Deref;
use std::sync::{Arc, LazyLock};

use serde::Deserialize;

use crate::source::{Sources, Span};

/// A translation unit as one pass of Clang saw it.
#[derive(Debug, Default)]
pub struct Ast {
    /// The declarations in order.
    pub declarations: Vec<Node>,
    /// The files that spans refer to.
    pub sources: Sources,
}

/// A node of Clang's tree.
#[derive(Debug, Default)]
pub struct Node {
    /// Clang's identity of it; 0 for none.
    pub id: NodeId,
    /// What it is.
    pub kind: Kind,
    /// Where it stands; in a macro, where the macro is used.
    pub span: Span,
    /// In a macro, where its first and last token stand themselves.
    pub spelling: Option<Box<Span>>,
    /// What it holds besides children.
    pub data: Box<Data>,
    /// Its children; an absent one is a node of kind `Absent`.
    pub inner: Vec<Node>,
}

/// Clang's identity of a node: an address, or what [`super::after`] made of one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct NodeId(pub(super) u64);

/// Attributes of nodes; which of them are there depends on the kind.
///
/// Those that few nodes have are in `Rare`, to which it dereferences: in a long function, nearly all nodes are
/// expressions.
#[derive(Debug, Default)]
pub struct Data {
    /// The declared or named thing.
    pub name: Option<Arc<str>>,
    /// The type of an expression or declaration.
    pub ty: Option<TypeName>,
    /// What an expression stands for.
    pub value_category: Option<ValueCategory>,
    /// A literal's value.
    pub value: Option<Value>,
    /// An operator's spelling.
    pub opcode: Option<Arc<str>>,
    /// `x++`, not `++x`.
    pub is_postfix: bool,
    /// What a cast does.
    pub cast_kind: Option<Arc<str>>,
    /// What a name refers to.
    pub referenced_decl: Option<Box<Reference>>,
    /// What a member expression refers to.
    pub referenced_member_decl: Option<NodeId>,
    /// `p->x`, not `s.x`.
    pub is_arrow: bool,
    /// Written by Clang, not by the user.
    pub is_implicit: bool,
    /// The same, of an attribute.
    pub implicit: bool,
    rare: Option<Box<Rare>>,
}

impl Deref for Data {
    type Target = Rare;

    fn deref(&self) -> &Rare {
        static NONE: LazyLock<Rare> = LazyLock::new(Rare::default);
        self.rare.as_deref().unwrap_or_else(|| &NONE)
    }
}

impl Data {
    /// Room for attributes that few nodes have.
    pub(super) fn rare_mut(&mut self) -> &mut Rare {
        self.rare.get_or_insert_default()
    }

    /// What it refers to by name.
    pub(super) fn references_mut(&mut self) -> impl Iterator<Item = &mut Reference> {
        let rare = self.rare.as_deref_mut().map(|rare| [&mut rare.decl, &mut rare.aliased_namespace]);
        let all = [&mut self.referenced_decl].into_iter().chain(rare.into_iter().flatten());
        all.filter_map(|reference| reference.as_deref_mut())
    }

    /// The last elements of a partly initialised array.
    pub(super) fn array_filler_mut(&mut self) -> &mut [Node] {
        self.rare.as_deref_mut().map_or(&mut [], |rare| &mut rare.array_filler)
    }
}

/// Attributes that few nodes have: those of declarations and of some statements and expressions.
#[derive(Debug, Default)]
pub struct Rare {
    /// The linker's name of a function or variable.
    pub mangled_name: Option<Arc<str>>,
    /// `static` or `extern`.
    pub storage_class: Option<Arc<str>>,
    /// How a variable is initialised.
    pub init: Option<Arc<str>>,
    /// Written with `constexpr`.
    pub constexpr: bool,
    /// `if constexpr`.
    pub is_constexpr: bool,
    /// The `if` has an `else`.
    pub has_else: bool,
    /// The statement has an init statement.
    pub has_init: bool,
    /// The statement's condition declares a variable.
    pub has_var: bool,
    /// `default` or nothing.
    pub explicitly_defaulted: Option<Arc<str>>,
    /// The signature of the constructor that is called.
    pub ctor_type: Option<TypeName>,
    /// All is zero before the constructor runs.
    pub zeroing: bool,
    /// The type in which a compound assignment computes.
    pub compute_lhs_type: Option<TypeName>,
    /// The operand of `sizeof(type)`.
    pub arg_type: Option<TypeName>,
    /// The underlying type of an enumeration.
    pub fixed_underlying_type: Option<TypeName>,
    /// `enum class` or `enum struct`.
    pub scoped_enum_tag: Option<Arc<str>>,
    /// `struct`, `class`, `union`.
    pub tag_used: Option<Arc<str>>,
    /// The record's fields are here.
    pub complete_definition: bool,
    /// What Clang says about the record as a whole.
    pub definition_data: DefinitionData,
    /// Base classes.
    pub bases: Vec<Base>,
    /// A member function that a derived class may replace.
    pub is_virtual: bool,
    /// A virtual function that has no body.
    pub is_pure: bool,
    /// The field is a bit-field.
    pub is_bitfield: bool,
    /// The declaration that this one repeats.
    pub previous_decl: Option<NodeId>,
    /// The scope it belongs to, where that is not the one it stands in.
    pub parent_decl_context_id: Option<NodeId>,
    /// The field that a constructor initialises.
    pub any_init: Option<Box<Reference>>,
    /// The base class that it initialises.
    pub base_init: Option<TypeName>,
    /// The type that a template argument or type node names.
    pub decl: Option<Box<Reference>>,
    /// `new T[n]`, `delete[] p`.
    pub is_array: bool,
    /// `new (where) T`.
    pub is_placement: bool,
    /// The namespace that a `namespace a = b;` means.
    pub aliased_namespace: Option<Box<Reference>>,
    /// The namespace that a `using namespace a;` means.
    pub nominated_namespace: Option<Box<Reference>>,
    /// The first part of a namespace that this one adds to.
    pub original_namespace: Option<Box<Reference>>,
    /// An `inline namespace`.
    pub is_inline: bool,
    /// A variable's name in its declaration; none where a macro writes it.
    pub name_span: Option<Box<Span>>,
    /// The last elements of a partly initialised array.
    pub array_filler: Vec<Node>,
}

/// What an expression stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ValueCategory {
    /// A value.
    Prvalue,
    /// A place.
    Lvalue,
    /// A place whose value is not needed any more.
    Xvalue,
}

/// What a name refers to, as far as the dump repeats it.
#[derive(Debug, Default)]
pub struct Reference {
    /// The declaration.
    pub id: NodeId,
    /// What it is.
    pub kind: Kind,
    /// Its name.
    pub name: Option<Arc<str>>,
    /// Its type.
    pub ty: Option<TypeName>,
}

/// What Clang says about a record as a whole.
#[derive(Debug, Default)]
pub struct DefinitionData {
    /// It can be made from a list of its fields: no constructors, nothing private.
    pub is_aggregate: bool,
}

/// A base class.
#[derive(Debug)]
pub struct Base {
    /// Its type.
    pub ty: TypeName,
}

/// A type's spelling, without typedefs; and as the program spells it, where that is the name of something else inside of a
/// template or with template arguments.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TypeName(pub Arc<str>, pub Option<Arc<str>>);

/// A literal's value: Clang writes text, numbers and truth values.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// `"0.1"`.
    Text(Arc<str>),
    /// `97`.
    Number(i64),
    /// `true`.
    Bool(bool),
}

/// Declares the kinds by Clang's names.
macro_rules! kinds {
    ($($kind:ident)*) => {
        /// The kinds of nodes that are told apart.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Deserialize)]
        #[allow(missing_docs, reason = "these are Clang's names")]
        pub enum Kind {
            $($kind,)*
            /// A child that is not there.
            #[default]
            Absent,
            /// Any other.
            #[serde(other)]
            Other,
        }
    };
}

kinds! {
    TranslationUnitDecl NamespaceDecl LinkageSpecDecl FunctionDecl FunctionTemplateDecl CXXMethodDecl CXXConstructorDecl
    CXXDestructorDecl CXXConversionDecl CXXRecordDecl ClassTemplateDecl ClassTemplateSpecializationDecl
    ClassTemplatePartialSpecializationDecl FieldDecl VarDecl
    VarTemplateDecl VarTemplateSpecializationDecl ParmVarDecl EnumDecl EnumConstantDecl TypedefDecl TypeAliasDecl
    UsingDecl UsingDirectiveDecl StaticAssertDecl EmptyDecl BindingDecl DecompositionDecl TemplateArgument
    TemplateTypeParmDecl NonTypeTemplateParmDecl
    TemplateTemplateParmDecl CXXCtorInitializer RecordType EnumType ElaboratedType NamespaceAliasDecl

    CompoundStmt DeclStmt IfStmt ForStmt WhileStmt DoStmt SwitchStmt CaseStmt DefaultStmt BreakStmt ContinueStmt
    ReturnStmt NullStmt CXXForRangeStmt AttributedStmt GCCAsmStmt GotoStmt LabelStmt CXXTryStmt

    IntegerLiteral FloatingLiteral CXXBoolLiteralExpr CharacterLiteral StringLiteral CXXNullPtrLiteralExpr GNUNullExpr
    DeclRefExpr MemberExpr ArraySubscriptExpr UnaryOperator BinaryOperator CompoundAssignOperator ConditionalOperator
    ImplicitCastExpr CStyleCastExpr CXXStaticCastExpr CXXReinterpretCastExpr CXXConstCastExpr CXXFunctionalCastExpr
    ParenExpr CallExpr CXXMemberCallExpr CXXOperatorCallExpr CUDAKernelCallExpr CXXConstructExpr CXXTemporaryObjectExpr
    InitListExpr ImplicitValueInitExpr CXXThisExpr MaterializeTemporaryExpr ExprWithCleanups CXXBindTemporaryExpr
    CXXDefaultArgExpr CXXDefaultInitExpr LambdaExpr SubstNonTypeTemplateParmExpr ConstantExpr UnaryExprOrTypeTraitExpr
    CXXScalarValueInitExpr CXXStdInitializerListExpr CXXNewExpr CXXDeleteExpr CXXThrowExpr PredefinedExpr UnresolvedLookupExpr
    CXXUnresolvedConstructExpr OpaqueValueExpr PseudoObjectExpr StmtExpr ArrayInitLoopExpr

    CUDAGlobalAttr CUDADeviceAttr CUDAHostAttr CUDASharedAttr CUDAConstantAttr HIPManagedAttr CUDALaunchBoundsAttr
    AlignedAttr AnnotateAttr FullComment MaxFieldAlignmentAttr PackedAttr LoopHintAttr
}

impl Node {
    /// The type's spelling, empty if there is none.
    pub fn ty(&self) -> &str {
        self.data.ty.as_ref().map_or("", |ty| &ty.0)
    }

    /// The name, empty if there is none.
    pub fn name(&self) -> &str {
        self.data.name.as_deref().unwrap_or("")
    }

    /// The operator's spelling, empty if there is none.
    pub fn opcode(&self) -> &str {
        self.data.opcode.as_deref().unwrap_or("")
    }

    /// The children of a kind.
    pub fn children(&self, kind: Kind) -> impl Iterator<Item = &Node> {
        self.inner.iter().filter(move |child| child.kind == kind)
    }

    /// The first child of a kind.
    pub fn child(&self, kind: Kind) -> Option<&Node> {
        self.inner.iter().find(|child| child.kind == kind)
    }

    /// Whether it has a child of that kind.
    pub fn has(&self, kind: Kind) -> bool {
        self.child(kind).is_some()
    }

    /// Whether it has an attribute of that kind that the user wrote.
    pub fn has_written(&self, kind: Kind) -> bool {
        self.children(kind).any(|attribute| !attribute.data.implicit)
    }

    /// Whether the expression names a place rather than a value.
    pub fn is_glvalue(&self) -> bool {
        matches!(self.data.value_category, Some(ValueCategory::Lvalue | ValueCategory::Xvalue))
    }
}
