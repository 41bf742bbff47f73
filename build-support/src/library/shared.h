
/* What the headers of all libraries of Tenfold share. */
#if defined(TENFOLD_ABI_VERSION) && TENFOLD_ABI_VERSION != @ABI@
#error "headers of different versions of Tenfold meet here"
#endif
#ifndef TENFOLD_ABI_VERSION
#define TENFOLD_ABI_VERSION @ABI@

/* A function returns TENFOLD_OK, the number n of a check that does not hold (its text is FUNCTION_CHECK_n), or an error.

   Nothing else is checked. Pointers have the alignment of their elements, may dangle where an extent is 0, and point
   to memory that does not overlap. A workspace is aligned to TENFOLD_WORKSPACE_ALIGN, holds nothing between calls, and
   may be NULL where it has 0 bytes. The context is NULL. A function may run several times at once, also in an
   interrupt, each call with results and a workspace of its own. STACK_BYTES is the most stack that a call takes;
   where there is no operating system, functions that the library leaves to the linker count. */
#define TENFOLD_OK 0
#define TENFOLD_BAD_EXTENT (-1)
#define TENFOLD_EXTERN_CALL (-2)
#define TENFOLD_DEVICE (-3)
#define TENFOLD_NO_VARIANT (-4)

#define TENFOLD_WORKSPACE_ALIGN @ALIGN@

#if defined(__cplusplus)
#if defined(__GNUC__) || defined(_MSC_VER)
#define TENFOLD_RESTRICT __restrict
#else
#define TENFOLD_RESTRICT
#endif
#else
#define TENFOLD_RESTRICT restrict
#endif

#if defined(__GNUC__)
#define TENFOLD_ALIGNED(bytes) __attribute__((aligned(bytes)))
#elif defined(__cplusplus) && __cplusplus >= 201103L
#define TENFOLD_ALIGNED(bytes) alignas(bytes)
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define TENFOLD_ALIGNED(bytes) _Alignas(bytes)
#elif defined(_MSC_VER)
#define TENFOLD_ALIGNED(bytes) __declspec(align(bytes))
#endif

/* Memory for a function: `static TENFOLD_WORKSPACE(memory, FUNCTION_WORKSPACE_BYTES);` */
#define TENFOLD_WORKSPACE(name, bytes) \
  TENFOLD_ALIGNED(TENFOLD_WORKSPACE_ALIGN) unsigned char name[(bytes) > 0 ? (bytes) : 1]

#define TENFOLD_ASSERT(name, condition) typedef char name##_is_as_expected[(condition) ? 1 : -1]
#endif
