# jit/auto.pyi: the array classes, for editors and type checkers. Written by python/tools/make_stubs.py.
from typing import Any, Iterator, Tuple, TypeVar

from numpy import ndarray

from .random import PCG32 as PCG32, Philox4x32 as Philox4x32
from .texture import _Texture

T = TypeVar("T", bound="ArrayBase")


class ArrayBase:
    """What all arrays have in common."""
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __getitem__(self, key: Any, /) -> Any: ...
    def __setitem__(self, key: Any, value: Any, /) -> None: ...
    def __bool__(self) -> bool: ...
    def __int__(self) -> int: ...
    def __float__(self) -> float: ...
    def __add__(self, other: Any, /) -> Any: ...
    def __radd__(self, other: Any, /) -> Any: ...
    def __iadd__(self, other: Any, /) -> Any: ...
    def __sub__(self, other: Any, /) -> Any: ...
    def __rsub__(self, other: Any, /) -> Any: ...
    def __isub__(self, other: Any, /) -> Any: ...
    def __mul__(self, other: Any, /) -> Any: ...
    def __rmul__(self, other: Any, /) -> Any: ...
    def __imul__(self, other: Any, /) -> Any: ...
    def __truediv__(self, other: Any, /) -> Any: ...
    def __rtruediv__(self, other: Any, /) -> Any: ...
    def __itruediv__(self, other: Any, /) -> Any: ...
    def __floordiv__(self, other: Any, /) -> Any: ...
    def __rfloordiv__(self, other: Any, /) -> Any: ...
    def __ifloordiv__(self, other: Any, /) -> Any: ...
    def __mod__(self, other: Any, /) -> Any: ...
    def __rmod__(self, other: Any, /) -> Any: ...
    def __imod__(self, other: Any, /) -> Any: ...
    def __pow__(self, other: Any, /) -> Any: ...
    def __rpow__(self, other: Any, /) -> Any: ...
    def __ipow__(self, other: Any, /) -> Any: ...
    def __matmul__(self, other: Any, /) -> Any: ...
    def __rmatmul__(self, other: Any, /) -> Any: ...
    def __imatmul__(self, other: Any, /) -> Any: ...
    def __and__(self, other: Any, /) -> Any: ...
    def __rand__(self, other: Any, /) -> Any: ...
    def __iand__(self, other: Any, /) -> Any: ...
    def __or__(self, other: Any, /) -> Any: ...
    def __ror__(self, other: Any, /) -> Any: ...
    def __ior__(self, other: Any, /) -> Any: ...
    def __xor__(self, other: Any, /) -> Any: ...
    def __rxor__(self, other: Any, /) -> Any: ...
    def __ixor__(self, other: Any, /) -> Any: ...
    def __lshift__(self, other: Any, /) -> Any: ...
    def __rlshift__(self, other: Any, /) -> Any: ...
    def __ilshift__(self, other: Any, /) -> Any: ...
    def __rshift__(self, other: Any, /) -> Any: ...
    def __rrshift__(self, other: Any, /) -> Any: ...
    def __irshift__(self, other: Any, /) -> Any: ...
    def __lt__(self, other: Any, /) -> Any: ...
    def __le__(self, other: Any, /) -> Any: ...
    def __gt__(self, other: Any, /) -> Any: ...
    def __ge__(self, other: Any, /) -> Any: ...
    def __eq__(self, other: Any, /) -> Any: ...  # type: ignore
    def __ne__(self, other: Any, /) -> Any: ...  # type: ignore
    def __neg__(self: T) -> T: ...
    def __pos__(self: T) -> T: ...
    def __abs__(self) -> Any: ...
    def __invert__(self: T) -> T: ...
    def numpy(self) -> ndarray: ...
    def torch(self) -> Any: ...
    def jax(self) -> Any: ...
    def tf(self) -> Any: ...
    def item(self) -> Any: ...
    def tolist(self) -> list: ...
    def __array__(self, dtype: Any = ..., copy: Any = ...) -> ndarray: ...
    def __dlpack__(self, stream: Any = ..., **kwargs: Any) -> Any: ...
    def __dlpack_device__(self) -> Tuple[int, int]: ...
    @property
    def shape(self) -> Tuple[int, ...]: ...
    @property
    def ndim(self) -> int: ...
    @property
    def state(self) -> Any: ...
    @property
    def index(self) -> int: ...
    @property
    def index_ad(self) -> int: ...
    @property
    def array(self) -> Any: ...
    @property
    def T(self) -> Any: ...
    grad: Any
    label: Any
    real: Any
    imag: Any


class Bool(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # bool


class Array0b(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Bool


class Array1b(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Bool
    x: Bool


class Array2b(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Bool
    x: Bool
    y: Bool


class Array3b(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Bool
    x: Bool
    y: Bool
    z: Bool


class Array4b(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Bool
    x: Bool
    y: Bool
    z: Bool
    w: Bool


class ArrayXb(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Bool


class TensorXb(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # bool


class Array22b(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Array2b


class Array33b(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Array3b


class Array44b(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Array4b


class Array34b(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Array4b


class Array43b(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Array3b


class Array41b(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Array1b


class Array334b(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Array34b


class Array441b(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Array41b


class Array443b(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Array43b


class Array444b(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Array44b


class Int8(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # int


class Array0i8(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Int8


class Array1i8(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Int8
    x: Int8


class Array2i8(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Int8
    x: Int8
    y: Int8


class Array3i8(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Int8
    x: Int8
    y: Int8
    z: Int8


class Array4i8(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Int8
    x: Int8
    y: Int8
    z: Int8
    w: Int8


class ArrayXi8(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Int8


class TensorXi8(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # int


class UInt8(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # int


class Array0u8(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # UInt8


class Array1u8(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # UInt8
    x: UInt8


class Array2u8(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # UInt8
    x: UInt8
    y: UInt8


class Array3u8(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # UInt8
    x: UInt8
    y: UInt8
    z: UInt8


class Array4u8(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # UInt8
    x: UInt8
    y: UInt8
    z: UInt8
    w: UInt8


class ArrayXu8(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # UInt8


class TensorXu8(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # int


class Int16(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # int


class Array0i16(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Int16


class Array1i16(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Int16
    x: Int16


class Array2i16(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Int16
    x: Int16
    y: Int16


class Array3i16(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Int16
    x: Int16
    y: Int16
    z: Int16


class Array4i16(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Int16
    x: Int16
    y: Int16
    z: Int16
    w: Int16


class ArrayXi16(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Int16


class TensorXi16(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # int


class UInt16(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # int


class Array0u16(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # UInt16


class Array1u16(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # UInt16
    x: UInt16


class Array2u16(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # UInt16
    x: UInt16
    y: UInt16


class Array3u16(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # UInt16
    x: UInt16
    y: UInt16
    z: UInt16


class Array4u16(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # UInt16
    x: UInt16
    y: UInt16
    z: UInt16
    w: UInt16


class ArrayXu16(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # UInt16


class TensorXu16(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # int


class Int(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # int


class Array0i(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Int


class Array1i(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Int
    x: Int


class Array2i(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Int
    x: Int
    y: Int


class Array3i(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Int
    x: Int
    y: Int
    z: Int


class Array4i(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Int
    x: Int
    y: Int
    z: Int
    w: Int


class ArrayXi(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Int


class TensorXi(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # int


class Vector0i(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Int


class Point0i(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Int


class Vector1i(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Int
    x: Int


class Point1i(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Int
    x: Int


class Vector2i(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Int
    x: Int
    y: Int


class Point2i(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Int
    x: Int
    y: Int


class Vector3i(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Int
    x: Int
    y: Int
    z: Int


class Point3i(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Int
    x: Int
    y: Int
    z: Int


class Vector4i(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Int
    x: Int
    y: Int
    z: Int
    w: Int


class Point4i(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Int
    x: Int
    y: Int
    z: Int
    w: Int


class UInt(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # int


class Array0u(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # UInt


class Array1u(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # UInt
    x: UInt


class Array2u(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # UInt
    x: UInt
    y: UInt


class Array3u(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # UInt
    x: UInt
    y: UInt
    z: UInt


class Array4u(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # UInt
    x: UInt
    y: UInt
    z: UInt
    w: UInt


class ArrayXu(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # UInt


class TensorXu(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # int


class Vector0u(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # UInt


class Point0u(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # UInt


class Vector1u(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # UInt
    x: UInt


class Point1u(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # UInt
    x: UInt


class Vector2u(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # UInt
    x: UInt
    y: UInt


class Point2u(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # UInt
    x: UInt
    y: UInt


class Vector3u(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # UInt
    x: UInt
    y: UInt
    z: UInt


class Point3u(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # UInt
    x: UInt
    y: UInt
    z: UInt


class Vector4u(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # UInt
    x: UInt
    y: UInt
    z: UInt
    w: UInt


class Point4u(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # UInt
    x: UInt
    y: UInt
    z: UInt
    w: UInt


class Int64(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # int


class Array0i64(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Int64


class Array1i64(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Int64
    x: Int64


class Array2i64(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Int64
    x: Int64
    y: Int64


class Array3i64(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Int64
    x: Int64
    y: Int64
    z: Int64


class Array4i64(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Int64
    x: Int64
    y: Int64
    z: Int64
    w: Int64


class ArrayXi64(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Int64


class TensorXi64(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # int


class Vector0i64(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Int64


class Point0i64(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Int64


class Vector1i64(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Int64
    x: Int64


class Point1i64(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Int64
    x: Int64


class Vector2i64(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Int64
    x: Int64
    y: Int64


class Point2i64(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Int64
    x: Int64
    y: Int64


class Vector3i64(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Int64
    x: Int64
    y: Int64
    z: Int64


class Point3i64(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Int64
    x: Int64
    y: Int64
    z: Int64


class Vector4i64(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Int64
    x: Int64
    y: Int64
    z: Int64
    w: Int64


class Point4i64(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Int64
    x: Int64
    y: Int64
    z: Int64
    w: Int64


class UInt64(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # int


class Array0u64(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # UInt64


class Array1u64(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # UInt64
    x: UInt64


class Array2u64(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # UInt64
    x: UInt64
    y: UInt64


class Array3u64(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # UInt64
    x: UInt64
    y: UInt64
    z: UInt64


class Array4u64(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # UInt64
    x: UInt64
    y: UInt64
    z: UInt64
    w: UInt64


class ArrayXu64(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # UInt64


class TensorXu64(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # int


class Vector0u64(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # UInt64


class Point0u64(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # UInt64


class Vector1u64(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # UInt64
    x: UInt64


class Point1u64(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # UInt64
    x: UInt64


class Vector2u64(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # UInt64
    x: UInt64
    y: UInt64


class Point2u64(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # UInt64
    x: UInt64
    y: UInt64


class Vector3u64(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # UInt64
    x: UInt64
    y: UInt64
    z: UInt64


class Point3u64(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # UInt64
    x: UInt64
    y: UInt64
    z: UInt64


class Vector4u64(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # UInt64
    x: UInt64
    y: UInt64
    z: UInt64
    w: UInt64


class Point4u64(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # UInt64
    x: UInt64
    y: UInt64
    z: UInt64
    w: UInt64


class Float16(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # float


class Array0f16(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Float16


class Array1f16(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Float16
    x: Float16


class Array2f16(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Float16
    x: Float16
    y: Float16


class Array3f16(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Float16
    x: Float16
    y: Float16
    z: Float16


class Array4f16(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Float16
    x: Float16
    y: Float16
    z: Float16
    w: Float16


class ArrayXf16(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Float16


class TensorXf16(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # float


class Array22f16(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Array2f16


class Array33f16(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Array3f16


class Array44f16(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Array4f16


class Array34f16(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Array4f16


class Array43f16(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Array3f16


class Array41f16(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Array1f16


class Array334f16(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Array34f16


class Array441f16(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Array41f16


class Array443f16(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Array43f16


class Array444f16(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Array44f16


class Matrix2f16(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Array2f16


class Matrix3f16(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Array3f16


class Matrix4f16(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Array4f16


class Matrix34f16(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Array34f16


class Matrix41f16(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Array41f16


class Matrix43f16(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Array43f16


class Matrix44f16(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Array44f16


class Complex2f16(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Float16
    x: Float16
    y: Float16


class Quaternion4f16(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Float16
    x: Float16
    y: Float16
    z: Float16
    w: Float16


class Normal3f16(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Float16
    x: Float16
    y: Float16
    z: Float16


class Spectrum4f16(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Float16
    x: Float16
    y: Float16
    z: Float16
    w: Float16


class Color0f16(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Float16


class Color1f16(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Float16
    x: Float16


class Color3f16(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Float16
    x: Float16
    y: Float16
    z: Float16


class Vector0f16(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Float16


class Point0f16(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Float16


class Vector1f16(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Float16
    x: Float16


class Point1f16(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Float16
    x: Float16


class Vector2f16(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Float16
    x: Float16
    y: Float16


class Point2f16(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Float16
    x: Float16
    y: Float16


class Vector3f16(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Float16
    x: Float16
    y: Float16
    z: Float16


class Point3f16(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Float16
    x: Float16
    y: Float16
    z: Float16


class Vector4f16(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Float16
    x: Float16
    y: Float16
    z: Float16
    w: Float16


class Point4f16(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Float16
    x: Float16
    y: Float16
    z: Float16
    w: Float16


class Float(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # float


class Array0f(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Float


class Array1f(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Float
    x: Float


class Array2f(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Float
    x: Float
    y: Float


class Array3f(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Float
    x: Float
    y: Float
    z: Float


class Array4f(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Float
    x: Float
    y: Float
    z: Float
    w: Float


class ArrayXf(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Float


class TensorXf(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # float


class Array22f(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Array2f


class Array33f(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Array3f


class Array44f(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Array4f


class Array34f(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Array4f


class Array43f(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Array3f


class Array41f(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Array1f


class Array334f(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Array34f


class Array441f(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Array41f


class Array443f(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Array43f


class Array444f(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Array44f


class Matrix2f(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Array2f


class Matrix3f(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Array3f


class Matrix4f(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Array4f


class Matrix34f(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Array34f


class Matrix41f(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Array41f


class Matrix43f(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Array43f


class Matrix44f(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Array44f


class Complex2f(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Float
    x: Float
    y: Float


class Quaternion4f(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Float
    x: Float
    y: Float
    z: Float
    w: Float


class Normal3f(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Float
    x: Float
    y: Float
    z: Float


class Spectrum4f(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Float
    x: Float
    y: Float
    z: Float
    w: Float


class Color0f(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Float


class Color1f(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Float
    x: Float


class Color3f(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Float
    x: Float
    y: Float
    z: Float


class Vector0f(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Float


class Point0f(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Float


class Vector1f(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Float
    x: Float


class Point1f(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Float
    x: Float


class Vector2f(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Float
    x: Float
    y: Float


class Point2f(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Float
    x: Float
    y: Float


class Vector3f(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Float
    x: Float
    y: Float
    z: Float


class Point3f(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Float
    x: Float
    y: Float
    z: Float


class Vector4f(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Float
    x: Float
    y: Float
    z: Float
    w: Float


class Point4f(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Float
    x: Float
    y: Float
    z: Float
    w: Float


class Float64(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # float


class Array0f64(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Float64


class Array1f64(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Float64
    x: Float64


class Array2f64(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Float64
    x: Float64
    y: Float64


class Array3f64(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Float64
    x: Float64
    y: Float64
    z: Float64


class Array4f64(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Float64
    x: Float64
    y: Float64
    z: Float64
    w: Float64


class ArrayXf64(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Float64


class TensorXf64(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # float


class Array22f64(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Array2f64


class Array33f64(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Array3f64


class Array44f64(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Array4f64


class Array34f64(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Array4f64


class Array43f64(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Array3f64


class Array41f64(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Array1f64


class Array334f64(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Array34f64


class Array441f64(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Array41f64


class Array443f64(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Array43f64


class Array444f64(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Array44f64


class Matrix2f64(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Array2f64


class Matrix3f64(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Array3f64


class Matrix4f64(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Array4f64


class Matrix34f64(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Array34f64


class Matrix41f64(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Array41f64


class Matrix43f64(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Array43f64


class Matrix44f64(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Array44f64


class Complex2f64(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Float64
    x: Float64
    y: Float64


class Quaternion4f64(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Float64
    x: Float64
    y: Float64
    z: Float64
    w: Float64


class Normal3f64(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Float64
    x: Float64
    y: Float64
    z: Float64


class Spectrum4f64(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Float64
    x: Float64
    y: Float64
    z: Float64
    w: Float64


class Color0f64(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Float64


class Color1f64(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Float64
    x: Float64


class Color3f64(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Float64
    x: Float64
    y: Float64
    z: Float64


class Vector0f64(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Float64


class Point0f64(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Float64


class Vector1f64(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Float64
    x: Float64


class Point1f64(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Float64
    x: Float64


class Vector2f64(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Float64
    x: Float64
    y: Float64


class Point2f64(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Float64
    x: Float64
    y: Float64


class Vector3f64(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Float64
    x: Float64
    y: Float64
    z: Float64


class Point3f64(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Float64
    x: Float64
    y: Float64
    z: Float64


class Vector4f64(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Float64
    x: Float64
    y: Float64
    z: Float64
    w: Float64


class Point4f64(ArrayBase):
    def __getitem__(self, key: Any, /) -> Any: ...  # Float64
    x: Float64
    y: Float64
    z: Float64
    w: Float64


Int32, UInt32, Float32, Mask = Int, UInt, Float, Bool
class Texture1f16(_Texture): ...
class Texture1f(_Texture): ...
class Texture1f64(_Texture): ...
class Texture1f8u(_Texture): ...
class Texture2f16(_Texture): ...
class Texture2f(_Texture): ...
class Texture2f64(_Texture): ...
class Texture2f8u(_Texture): ...
class Texture3f16(_Texture): ...
class Texture3f(_Texture): ...
class Texture3f64(_Texture): ...
class Texture3f8u(_Texture): ...
