# tests/python/oracle_semantics.py: expressions have the values and types that they have in Dr.Jit.
import importlib
import sys
import warnings

try:
    import drjit
except ImportError:
    print("skipped: no Dr.Jit")
    sys.exit(77)
import numpy as np

import umbel.jit

warnings.simplefilter("ignore")

EXPRESSIONS = """
Int(1)+1.5; Int(1)+2; Bool(True)+1; UInt(1)-2; Int(1)+UInt(2); Float(1)+Float64(2); Array3f(1)+Float(2)
Array3f(1)*Array3i(2); Int(7)//2; Int(-7)//2; Int(-7)%3; Float(2)**3; Int(2)**3; Float(2)**0.5; -UInt(1); ~Int(1)
Float(1)<2; Array3f(1,2,3)<2; Array3f(1,2,3)==Array3f(1,0,3); dr.all(Array3b(True)); dr.sum(Array3f(1,2,3))
dr.sum(Float(1,2,3)); dr.sum([1,2,3]); dr.sum(Array3f([1,2],3,4)); dr.sum(Array3f([1,2],3,4),axis=None)
dr.mean(Float(1,2,3)); dr.max(Float(1,2,3)); dr.norm(Array3f(1,2,3)); dr.dot(Array3f(1,2,3),Array3f(1,2,3))
dr.dot(Float(1,2),Float(1,2)); Array3f(np.ones((3,2))); Matrix3f(1); Matrix3f(1,2,3,4,5,6,7,8,9)
Matrix3f(1,2,3,4,5,6,7,8,9)[0]; Matrix2f(1,2,3,4)*Matrix2f(1,2,3,4); Matrix2f(1,2,3,4)@Array2f(1,2)
2*Matrix2f(1,2,3,4); Matrix2f(1)+1; Matrix2f(1,2,3,4)/2; Complex2f(1,2)*Complex2f(3,4); Complex2f(1,2)*2
Complex2f(1,2)+1; Complex2f(1,2)/Complex2f(1,3); 1/Complex2f(1,2); Quaternion4f(1,2,3,4)*Quaternion4f(1,2,3,4)
Quaternion4f(1,2,3,4)+1; dr.rcp(Complex2f(1,2)); dr.sqrt(Complex2f(-1,0)); dr.exp(Complex2f(1,2)); Array3f(1,2,3).xy
Float(1,2,3)[1]; Array3f([1,2],2,3)[1]; Float(1,2,3)[UInt(0,1)]; Float(1,2,3)[0:2]; Array33f(Array3f(1,2,3))
Array33f(1)+Array3f(1,2,3); dr.sum(Matrix2f(1,2,3,4)); TensorXf([1,2,3,4],shape=(2,2))
TensorXf([1,2,3,4],shape=(2,2))+TensorXf([1,2],shape=(2,1)); TensorXf(Array3f([1,2],3,4)); TensorXf(5)
dr.sum(TensorXf([[1,2],[3,4]]),axis=0); dr.sum(TensorXf([[1,2],[3,4]])); dr.arange(TensorXf,3)
TensorXf([[1,2],[3,4]])@TensorXf([[1,2],[3,4]]); dr.zeros(Array3f,2); dr.full(Float,2,3); dr.arange(Float,1,5,2)
dr.linspace(Float,0,1,5); dr.gather(Array3f,dr.arange(Float,6),UInt(0,1)); dr.ravel(Array3f([1,2],[3,4],[5,6]))
dr.unravel(Array2f,dr.arange(Float,6)); dr.select(Bool(True,False),Float(1),2); dr.minimum(Int(1),2.5)
dr.meshgrid(Float(1,2),Float(3,4)); dr.concat([Float(1,2),Float(3)]); dr.cross(Array3f(1,0,0),Array3f(0,1,0))
ArrayXf([1,2],[3,4]); dr.sum(ArrayXf([1,2],[3,4])); PCG32(4).next_float32(); PCG32(4).next_uint64()
PCG32(4).next_uint32_bounded(100); PCG32(3).next_float32_normal(); Philox4x32(UInt64(5), UInt(1,2)).next_uint32x4()
dr.reinterpret_array(UInt,Float(1)); dr.prod(Array3f(1,2,3)); Matrix2f(1,2,3,4).T; dr.det(Matrix2f(1,2,3,4))
dr.diag(Array2f(1,2)); dr.identity(Matrix3f); dr.trace(Matrix2f(1,2,3,4)); Array3f(1)+[1,2,3]; Float(1)+[1,2,3]
Float([1,2,3])*np.array([1,2,3]); dr.clip(Float(5),0,1); dr.lerp(Float(0),1,.5); dr.sign(Float(-0.0)); dr.log2i(UInt(8))
Float16(1)+1.5; Float(1)&Bool(True); dr.reverse(Array3f(1,2,3)); dr.tile(Float(1,2),2); dr.repeat(Float(1,2),2)
dr.sort(Float(3,1,2)); dr.argsort(Float(3,1,2)); dr.cumsum(Float(1,2,3)); dr.prefix_sum(Float(1,2,3))
dr.block_sum(Float(1,2,3,4),2); dr.compress(Bool(True,False,True)); dr.std(Float(1,2,4)); dr.var(Float(1,2,4))
dr.median(Float(1,2,4)); dr.hypot(Float(3),4); dr.copysign(Float(3),-1); dr.brev(UInt(1)); dr.sphdir(Float(1),Float(1))
dr.safe_sqrt(Float(-1)); dr.step(Float(1),2); dr.unit_angle(Array3f(1,0,0),Array3f(0,1,0)); dr.mul_wide(UInt(1<<31),4)
dr.epsilon(Float); dr.largest(Float); dr.smallest(Float); dr.one_minus_epsilon(Float); dr.format('{} {}',Float(1),2)
dr.stack([Float(1,2),Float(3,4)]); dr.moveaxis(TensorXf([[1,2],[3,4]]),0,1); str(dr.arange(Float,100))
str(Array3f([1,2],2,3)); str(Complex2f(1,2)); Float(); Array3f(); dr.frob(Matrix2f(1,2,3,4))
dr.quat_to_matrix(Matrix3f,Quaternion4f(0,0,0.6,0.8)); dr.quat_to_euler(Quaternion4f(0,0,0.6,0.8)); dr.erf(Float(.5))
dr.euler_to_quat(Array3f(.1,.2,.3)); dr.slerp(Quaternion4f(0,0,0,1),Quaternion4f(0,0,1,0),Float(.3))
Texture2f(TensorXf(np.arange(12.).reshape(3,4,1))).eval(Array2f([.1,.9],[.4,.7]))
Texture2f(TensorXf(np.arange(12.).reshape(3,4,1))).eval_cubic(Array2f([.3,.6],[.4,.7]))
Texture2f(TensorXf(np.arange(12.).reshape(3,4,1))).eval_fetch(Array2f(.3,.4))
dr.linear_to_srgb(Float(.2)); dr.srgb_to_linear(Float(.2)); dr.linear_srgb_to_oklab(Array3f(.1,.2,.3))
dr.switch(UInt(0,1),[lambda x:x+1,lambda x:x*10],Float(1,2))
dr.while_loop((UInt(0),Float(1,2)),lambda i,x:i<3,lambda i,x:(i+1,x*2))
dr.resample(TensorXf(np.eye(7)),(3,10),'lanczos',boundary='reflect'); dr.resample(TensorXf(np.eye(7)),(3,7),'box')
dr.convolve(TensorXf(np.eye(7)),'gaussian',filter_radius=2,normalize=True,boundary='mirror')
dr.convolve(TensorXf(np.eye(7)),[1.,2.,1.],axis=0); dr.upsample(TensorXf(np.eye(2)),scale_factor=(2,3))
Int(5,6)&Bool(True,False); UInt(6)&True; Array3i(5,6,7)&Array3b(True,False,True); 2**Int(1,2); Int(1,2)+np.array([.5,.25])
TensorXf(np.arange(12.).reshape(2,3,2)).mT; TensorXf(np.arange(24.).reshape(2,3,4,1))[:,UInt(0,1),None,UInt(1,0)]
dr.block_prefix_sum(Float(1,2,3,4,5),2,reverse=True); dr.format('{}',dr.arange(UInt,30),limit=-1)
dr.binary_search(0,9,lambda i: dr.gather(Float,dr.arange(Float,9),i)<Float(2.5,-1))
dr.sh_eval(Array3f([.36,.48],[.48,.64],[.8,.6]),3)[1:]; dr.sum(TensorXf([[1,2],[3,4]]),axis=1,keepdims=True)
dr.var(TensorXf([[1,2],[3,4]]),axis=0,ddof=1)
dr.block_prefix_sum(Float(1,2,3,4),2); dr.count(Bool(True,False)); dr.mean(TensorXf([[1,2],[3,4]]),axis=1)
"""


def evaluate(library, text):
    names = dict(vars(importlib.import_module(library + ".llvm.ad")))
    names.update(dr=importlib.import_module(library), np=np)
    return eval(text, names)


def same(a, b):
    """Whether two results agree in type, shape and, up to rounding, value."""
    if isinstance(a, (list, tuple)):
        return isinstance(b, (list, tuple)) and len(a) == len(b) and all(same(x, y) for x, y in zip(a, b))
    if type(a).__name__ != type(b).__name__:
        return False
    if isinstance(a, str):
        return a == b
    if hasattr(a, "numpy"):
        a, b = a.numpy(), b.numpy()
    return np.shape(a) == np.shape(b) and np.allclose(a, b, rtol=2e-5, atol=1e-6)


failed = 0
expressions = [e.strip() for line in EXPRESSIONS.strip().splitlines() for e in line.split("; ")]
for text in expressions:
    theirs = evaluate("drjit", text)
    try:
        ours = evaluate("umbel.jit", text)
        ok = same(ours, theirs)
    except Exception as e:
        ours, ok = e, False
    if not ok:
        failed += 1
        print(f"{text}\n  Umbel:  {type(ours).__name__} {ours!r}\n  Dr.Jit: {type(theirs).__name__} {theirs!r}")
print(f"{len(expressions) - failed} of {len(expressions)} expressions agree")
sys.exit(failed > 0)
