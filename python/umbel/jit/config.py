"""umbel.jit.config: how this build was made."""
import sys as _sys

CXX_COMPILER = "unknown"
DRJIT_BACKENDS = ["llvm", "interp"]
PYTHON_VERSION = "{}.{}.{}".format(*_sys.version_info[:3])
