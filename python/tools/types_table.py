# python/tools/types_table.py: the types of functions that are written in Python, for make_stubs.py.
#
# A is an array or a number, S anything that arrays are in; both stand for the same type wherever they are in a line. A parameter
# that a line does not mention has the type that its name has below, or any.
PARAMETERS = {
    "active": "MaskLike", "as_string": "bool", "atol": "Optional[float]", "block_size": "int", "clip": "bool", "ddof": "int",
    "descending": "bool", "endpoint": "bool", "equal_nan": "bool", "exclusive": "bool", "filename": "Path", "indexing": "str",
    "keepdims": "bool", "label": "Optional[str]", "limit": "int", "num": "int", "order": "str", "path": "Path",
    "preserve_type": "bool", "quality": "int", "return_index": "bool", "reverse": "bool", "rtol": "Optional[float]",
    "shape": "Sizes", "size": "int", "spp": "int", "spp_grad": "int", "stable": "bool", "strict": "bool", "when": "bool",
}
FUNCTIONS = """
# entry by entry
sqrt rcp rsqrt sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh exp exp2 log log2 cbrt erf erfinv lgamma: x=A -> A
abs floor ceil trunc round popcnt lzcnt tzcnt: x=A -> A
minimum maximum mul_hi: a=A -> A
atan2: y=A -> A
fma power sqr square safe_sqrt safe_asin safe_acos deg2rad rad2deg sign normalize brev log2i: a=A -> A
fmin fmax lerp copysign mulsign mulsign_neg hypot cross rotl rotr conj inverse inverse_transpose slerp: a=A -> A
sincos sincosh: a=A -> Tuple[A, A]
step: x=A -> A
select: a=S -> S
srgb_to_linear linear_to_srgb relative_grad: x=A -> A
clip linear_srgb_to_oklab oklab_to_linear_srgb: value=A -> A
allclose: -> bool
assert_allclose assert_true assert_false assert_equal: -> None

# arrays
full zeros ones empty opaque: dtype=Type[S] -> S
full_like zeros_like ones_like empty_like: a=S; shape=Optional[Sizes] -> S
arange: dtype=Type[A]; start=Optional[int]; stop=Optional[int]; step=int; size=Optional[int] -> A
linspace identity rotate reinterpret_array unravel: dtype=Type[A] -> A
meshgrid: args=A -> Tuple[A, ...]
shape: -> Tuple[int, ...]
width: -> int
gather: dtype=Type[S]; shape=Optional[Sizes] -> S
scatter scatter_add scatter_add_kahan: -> None
scatter_reduce: op=ReduceOp -> None
scatter_inc scatter_exch: target=A -> A
tile copy repeat: value=S -> S
sort reverse block_sum prefix_sum cumsum block_prefix_sum take take_interp: value=A -> A
block_reduce prefix_reduce block_prefix_reduce: op=ReduceOp; value=A -> A
polar_decomp: arg=A -> Tuple[A, A]
transform_decompose: -> Tuple[Any, Any, Any]
transpose swapaxes moveaxis expand_dims squeeze: a=A -> A
concat stack vstack hstack dstack column_stack: arrays=Sequence[A] -> A
array_split split: a=A -> List[A]
resample convolve: source=A; boundary=str; mode=Optional[str] -> A
upsample: t=A -> A
sh_eval: order=int -> List[Any]

# whose class is another one: a mask, an entry, a matrix for a quaternion ...
isnan isinf isfinite mul_wide dot abs_dot squared_norm norm unit_angle sphdir arg det diag frob imag real trace: -> Any
euler_to_quat matrix_to_quat quat_apply quat_to_euler quat_to_matrix transform_compose reshape slice_index ravel slice: -> Any
all any none count sum prod min max mean median std var reduce argmin argmax compress argsort binary_search: -> Any
all_nested any_nested none_nested sum_nested prod_nested min_nested max_nested opaque_width scatter_cas matmul: -> Any
alloc_local: dtype=Type[S] -> Local
clamp: value=A -> A
row_stack: arrays=Sequence[A] -> A
children: -> List[Any]
leaves: -> List[Any]
map_leaves rebuild: tree=S -> S

# types
is_array_v is_struct_v is_tensor_v is_matrix_v is_complex_v is_quaternion_v is_special_v is_vector_v is_host_v is_jit_v: -> bool
is_dynamic_v is_diff_v is_mask_v is_float_v is_half_v is_integral_v is_arithmetic_v is_signed_v is_unsigned_v is_iterable_v: -> bool
scalar_t value_t leaf_t array_t like mask_t tensor_t matrix_t replace_type_t replace_shape_t expr_t detached_t diff_array_t: -> Any
int8_array_t uint8_array_t int16_array_t uint16_array_t int32_array_t uint32_array_t int64_array_t uint64_array_t: -> Any
float16_array_t float32_array_t float64_array_t bool_array_t int_array_t uint_array_t float_array_t reinterpret_array_t: -> Any
describe: -> Tuple[int, int, int, Tuple[int, ...]]
type_v: -> VarType
backend_v: -> JitBackend
has_backend: -> bool
set_backend: name=str -> None
depth_v size_v itemsize_v: -> int
epsilon one_minus_epsilon recip_overflow smallest largest: -> float

# evaluation, derivatives, control flow
eval schedule: -> bool
make_opaque sync_thread sync_device sync_all_devices flush_malloc_cache flush_kernel_cache flush_thread kernel_history_clear: -> None
thread_count: -> int
set_thread_count: n=int -> None
flag: -> bool
set_flag: value=bool -> None
kernel_history: -> List[Dict[str, Any]]
last_program format: -> str
print profile_mark: -> None
grad detach: arg=S -> S
replace_grad: arg0=S -> S
enable_grad disable_grad clear_grad set_grad accum_grad set_grad_enabled forward backward forward_from backward_from: -> None
enqueue traverse set_label: -> None
grad_enabled: -> bool
while_loop: state=S; cond=Callable[..., Any]; body=Callable[..., Any]; labels=Sequence[str]; mode=Optional[str] -> S
if_stmt: true_fn=Callable[..., S]; false_fn=Callable[..., S]; mode=Optional[str] -> S
switch: targets=Sequence[Callable[..., S]]; mode=Optional[str] -> S
dispatch: target=Callable[..., S]; mode=Optional[str] -> S
custom backward_to forward_to gradient tangent hvp label ad_live reorder_threads hint: -> Any
syntax freeze wrap wrap_ad func: -> Any
isolate_grad resume_grad suspend_grad profile_enable profile_range: -> ContextManager[Any]
graphviz graphviz_ad whos whos_ad: -> Any
memory_stats: -> Dict[str, Any]
log_level: -> LogLevel
set_log_level: -> None
rng: seed=Any -> Generator

# scenes
umbel.load_dict: dict=Mapping[str, Any]; parallel=bool; optimize=bool -> LoadedObject
umbel.load_file: path=Path; parallel=bool; optimize=bool -> LoadedObject
umbel.load_string: string=str; parallel=bool; optimize=bool -> LoadedObject
umbel.render: scene=Scene; sensor=Union[int, Sensor]; integrator=Union[Integrator, str, None] -> TensorXf
umbel.traverse: node=Object -> SceneParameters
umbel.set_device: number=Optional[int] -> ContextManager[Any]
umbel.set_variant umbel.variant_context umbel.scoped_set_variant: names=str -> ContextManager[Any]
umbel.variant: -> str
umbel.variants: -> List[str]
umbel.cornell_box: -> Dict[str, Any]
umbel.has_flag: -> bool
"""


def read():
    """{name: ({parameter: type}, type of the result)}"""
    table = {}
    for line in FUNCTIONS.splitlines():
        if not line or line.startswith("#"):
            continue
        names, _, types = line.partition(":")
        parameters, _, result = types.rpartition("->")
        given = dict(p.strip().split("=", 1) for p in parameters.split(";") if p.strip())
        table.update({name: (given, result.strip()) for name in names.split()})
    return table
