//! Places, references, decay, fields.

use expect_test::expect;

use super::{body, cuda};

#[test]
fn elements_and_fields() {
    let text = body(
        "record Vec { x: float, data: float[4] }
         record Node { value: Vec, next: Node* }
         device f(p: Node*, a: float*, rows: float[8]*, i: int, u: unsigned int) -> void {
           p->value.x = *a;
           p[1].value.x = a[i];
           p->next->value.data[i] = (*p).value.data[2];
           rows[i][u] = (*rows)[0];
           a = &rows[1][0];
           a = &p->value.data[0];
           a = &a[i];
           let local: Vec;
           local.data[3] = (a + i)[2];
           *(a + i) = 0.0f;
           let table: float*[4] = make float*[4](a, &a[1]);
           table[i][1] = *table[0];
           let first: float = *&local.data[0];
         }",
    );
    expect![[r#"
        p->value.x = *a;
        p[1].value.x = a[i];
        p->next->value.data[i] = p->value.data[2];
        rows[i][u] = (*rows)[0];
        a = rows[1];
        a = p->value.data;
        a = &a[i];
        Vec local;
        local.data[3] = (a + i)[2];
        *(a + i) = 0.0f;
        float* table[4] = {a, &a[1]};
        table[i][1] = *table[0];
        float first = *local.data;
    "#]]
    .assert_eq(&text);
}

#[test]
fn references_are_the_places_they_refer_to() {
    let text = cuda(
        "record Vec { x: float }
         record Capture { sum: float&, scale: float }
         device add(r: float&, v: const Vec&) -> float& {
           *r = (*r + v->x);
           return r;
         }
         device f(tile: float[16]&, v: Vec&, p: float*) -> float {
           let r: float& = &ref (*tile)[3];
           let e: float& = &ref *p;
           let q: float* = &*r;
           let c: Capture = make Capture(r, 2.0f);
           *c.sum = (*c.sum * c.scale);
           let s: float&;
           s = call add(&ref v->x, (v as const Vec&));
           let t: float&;
           t = call add(r, (v as const Vec&));
           let decayed: float* = &(*tile)[0];
           let from: float* = (r as float*);
           return (*s + *t);
         }",
    );
    expect![[r#"
        struct Vec {
          float x;
        };

        struct Capture {
          float& sum;
          float scale;
        };

        __device__ float& add(float& r, const Vec& v) {
          r += v.x;
          return r;
        }

        __device__ float f(float (&tile)[16], Vec& v, float* p) {
          float& r = tile[3];
          float& e = *p;
          float* q = &r;
          Capture c = {r, 2.0f};
          c.sum *= c.scale;
          float& s = add(v.x, v);
          float& t = add(r, v);
          float* decayed = tile;
          float* from = &r;
          return s + t;
        }
    "#]]
    .assert_eq(&text);
}

#[test]
fn declarators() {
    let text = cuda(
        "device f(a: float[8]*, b: const float* restrict, c: float[16]&, d: float*[4]*, e: const float* const*,
                  g: volatile int*, h: const float[8]*) -> const float* {
           let table: float*[4];
           let grid: int[2][3];
           let rows: float[8]*[2];
           return *e;
         }",
    );
    expect![[r#"
        __device__ const float* f(float (*a)[8], const float* __restrict__ b, float (&c)[16],
            float* (*d)[4], const float* const* e, volatile int* g, const float (*h)[8]) {
          float* table[4];
          int grid[2][3];
          float (*rows[2])[8];
          return *e;
        }
    "#]]
    .assert_eq(&text);
}
