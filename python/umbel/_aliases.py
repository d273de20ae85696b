# umbel/_aliases.py: umbel.llvm_ad_rgb, umbel.scalar_rgb ...: the package as one variant has it, also for imports such as
# `from umbel.scalar_rgb.test.util import ...`.
import importlib
import importlib.abc
import importlib.machinery
import sys
import types


class VariantModule(types.ModuleType):
    """The names of the package, with the types of one variant."""

    def __init__(self, name, variant):
        super().__init__(name, f"The names of umbel in the variant {variant}.")
        self.__path__, self._variant = [], variant

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        package = sys.modules["umbel"]
        if name in vars(package) or self._variant is None:
            return getattr(package, name)
        with package.set_variant(self._variant):
            return getattr(package, name)


class _Loader(importlib.abc.Loader):
    def __init__(self, parts): self._parts = parts

    def create_module(self, spec):
        first, *rest = self._parts
        if not rest:
            return VariantModule(spec.name, None if first == "python" else first)
        self._module = importlib.import_module(".".join(["umbel", *rest]))
        self._spec = self._module.__spec__
        return self._module

    def exec_module(self, module):
        if len(self._parts) > 1:
            module.__spec__ = self._spec  # it stays what it is


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        package, *parts = name.split(".")
        if package != "umbel" or not parts:
            return None
        from ._variants import is_variant
        if parts[0] != "python" and not is_variant(parts[0]):
            return None
        return importlib.machinery.ModuleSpec(name, _Loader(parts), is_package=True)


sys.meta_path.insert(0, _Finder())  # before the one that would load copies of what is there
