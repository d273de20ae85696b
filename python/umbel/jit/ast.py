# jit/ast.py: @syntax turns `while` and `if` over arrays into recorded loops and conditionals.
#
#     while cond: body     becomes     a, b = while_loop((a, b), lambda a, b: cond, body(a, b) -> (a, b))
#
# The state is what the statement mentions of the function's local variables that were bound before it. What is
# assigned inside only is a temporary and ends with the statement.
import ast
import inspect
import os
import textwrap
import types

from ._control import if_stmt, while_loop

_options = ("mode", "label", "max_iterations", "strict", "compress")


class HintError(SyntaxError):
    """What @syntax cannot do."""


def hint(arg, /, *, mode=None, max_iterations=None, label=None, include=None, exclude=None, strict=True, compress=None):
    """Options of a statement under @syntax: `while hint(i < n, mode="evaluated"): ...`. `include` and `exclude` are
    lists of variables that are to be part of the state, or not; the rest is as of while_loop and if_stmt."""
    return arg


# ---- names

class _Names(ast.NodeVisitor):
    """Names that a piece of code loads and stores in the function's scope."""

    def __init__(self):
        self.loads, self.stores = set(), set()

    def visit_Name(self, node):
        (self.loads if isinstance(node.ctx, ast.Load) else self.stores).add(node.id)

    def visit_AugAssign(self, node):
        self.generic_visit(node)
        if isinstance(node.target, ast.Name):
            self.loads.add(node.target.id)

    def _inner(self, parts, own):
        """Code with names of its own: it stores nothing here."""
        names = _Names()
        for p in parts:
            names.visit(p)
        self.loads |= names.loads - own - names.stores

    def _comprehension(self, node):
        targets = _Names()
        for g in node.generators:
            targets.visit(g.target)
        self._inner(list(ast.iter_child_nodes(node)), targets.stores)

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension

    def _function(self, node):
        a = node.args
        own = {x.arg for x in a.posonlyargs + a.args + a.kwonlyargs} | {x.arg for x in (a.vararg, a.kwarg) if x}
        for default in a.defaults + [d for d in a.kw_defaults if d is not None]:
            self.visit(default)
        self._inner(node.body if isinstance(node.body, list) else [node.body], own)
        if not isinstance(node, ast.Lambda):
            self.stores.add(node.name)
            for d in node.decorator_list:
                self.visit(d)

    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = _function

    def visit_ClassDef(self, node):
        self._inner(node.body + node.bases, set())
        self.stores.add(node.name)

    def visit_ExceptHandler(self, node):
        if node.name:
            self.stores.add(node.name)
        self.generic_visit(node)

    def visit_Import(self, node):
        self.stores |= {(a.asname or a.name).split(".")[0] for a in node.names}

    visit_ImportFrom = visit_Import


def _names(nodes):
    names = _Names()
    for n in nodes:
        names.visit(n)
    return names.loads, names.stores


def _assigned(statements):
    """Names that are bound after the statements, whichever way conditions go."""
    out = set()
    for s in statements:
        if isinstance(s, ast.If):
            out |= _assigned(s.body) & _assigned(s.orelse)
        elif not isinstance(s, ast.While):
            out |= _names([s])[1]
    return out


def _parameters(definition):
    a = definition.args
    return [x.arg for x in a.posonlyargs + a.args + a.kwonlyargs] + [x.arg for x in (a.vararg, a.kwarg) if x is not None]


# ---- statements

class _Transformer(ast.NodeTransformer):
    def __init__(self, arguments, filename, recursive):
        self.bound = set(arguments)
        self.filename, self.recursive = filename, recursive
        self.around = []  # ("loop" or "if", whether it stays Python's) of the statements around
        self.count = 0

    def _fail(self, node, text):
        error = HintError(f"@syntax ({self.filename}:{node.lineno}): {text}")
        error.filename, error.lineno = self.filename, node.lineno
        raise error

    def _forbid(self, node, kind):
        self._fail(node, f"use of '{kind}' inside a transformed 'while' loop or 'if' statement is currently not supported. "
                         "Put it into the condition; a statement whose condition is Python's own can be left as it is by "
                         "dr.hint(condition, mode='scalar').")

    def block(self, statements):
        """Transforms statements in order; what they bind counts for those that follow."""
        out = []
        for s in statements:
            bound = None if isinstance(s, (ast.While, ast.If)) else _names([s])[1]
            r = self.visit(s)
            out += r if isinstance(r, list) else [r]
            if bound is not None:
                self.bound |= bound
        return out

    def generic_visit(self, node):
        if isinstance(node, (ast.For, ast.AsyncFor)):
            self.bound |= _names([node.target])[1]
            self.around.append(("loop", True))
        if isinstance(node, (ast.With, ast.AsyncWith)):
            for item in node.items:
                if item.optional_vars is not None:
                    self.bound |= _names([item.optional_vars])[1]
        for part in ("body", "orelse", "finalbody"):
            statements = getattr(node, part, None)
            if isinstance(statements, list):
                setattr(node, part, self.block(statements))
        for handler in getattr(node, "handlers", None) or []:
            if handler.name:
                self.bound.add(handler.name)
            handler.body = self.block(handler.body)
        for case in getattr(node, "cases", None) or []:
            case.body = self.block(case.body)
        if isinstance(node, (ast.For, ast.AsyncFor)):
            self.around.pop()
        if isinstance(node, ast.Expr) and self._transformed():
            for n in ast.walk(node):
                if isinstance(n, (ast.Yield, ast.YieldFrom)):
                    self._forbid(node, "yield")
        return node

    def _transformed(self): return any(not scalar for _, scalar in self.around)

    def visit_FunctionDef(self, node):
        if self.recursive:
            inner = _Transformer(_parameters(node), self.filename, True)
            inner.count = self.count + 100  # names of generated functions stay apart
            node.body = inner.block(node.body)
        return node

    def visit_AsyncFunctionDef(self, node): return node
    def visit_ClassDef(self, node): return node
    def visit_Lambda(self, node): return node

    def visit_Return(self, node):
        if self._transformed():
            self._forbid(node, "return")
        return node

    def _jump(self, node):
        for kind, scalar in reversed(self.around):
            if not scalar:
                self._forbid(node, type(node).__name__.lower())
            if kind == "loop":
                break
        return node

    visit_Break = visit_Continue = _jump

    # ---- `while` and `if`
    def _hint(self, test):
        """The condition without hint(...), and its options."""
        if not isinstance(test, ast.Call):
            return test, {}
        f = test.func
        if (f.id if isinstance(f, ast.Name) else f.attr if isinstance(f, ast.Attribute) else "") != "hint":
            return test, {}
        if len(test.args) != 1:
            self._fail(test, "hint() takes one positional argument, the condition")
        options = {k.arg: k.value for k in test.keywords}
        for key, value in options.items():
            if key in ("include", "exclude"):
                if not isinstance(value, ast.List) or not all(isinstance(e, ast.Name) for e in value.elts):
                    self._fail(test, f"the '{key}' parameter of hint() must specify a list of names, such as [a, b]")
            elif key not in _options:
                self._fail(test, f"hint() does not support the keyword argument \"{key}\"; there are "
                                 f"{', '.join((*_options, 'include', 'exclude'))}")
        return test.args[0], options

    @staticmethod
    def _is_scalar(options):
        mode = options.get("mode")
        return isinstance(mode, ast.Constant) and mode.value == "scalar"

    @staticmethod
    def _adjust(names, options):
        def listed(key): return {e.id for e in options[key].elts} if key in options else set()
        return sorted((set(names) | listed("include")) - listed("exclude"))

    @staticmethod
    def _keywords(options, leave=()):
        return [ast.keyword(k, options[k]) for k in _options if k in options and k not in leave]

    def _function(self, name, parameters, body):
        args = ast.arguments(posonlyargs=[], args=[ast.arg(p) for p in parameters], kwonlyargs=[], kw_defaults=[],
                             defaults=[])
        return ast.FunctionDef(name, args, body, [], None, None, type_params=[]) if hasattr(ast, "TypeVar") else \
            ast.FunctionDef(name, args, body, [], None, None)

    @staticmethod
    def _tuple(names, ctx): return ast.Tuple([ast.Name(n, ctx()) for n in names], ctx())

    @staticmethod
    def _labels(names): return ast.Tuple([ast.Constant(n) for n in names], ast.Load())

    def _call(self, node, name, functions, arguments, results, keywords):
        call = ast.Call(ast.Attribute(ast.Name("_umbel_syntax", ast.Load()), name, ast.Load()), arguments, keywords)
        last = ast.Assign([self._tuple(results, ast.Store)], call) if results else ast.Expr(call)
        statements = [*functions, last]
        for s in statements:
            ast.copy_location(s, node)
            ast.fix_missing_locations(s)
        self.bound |= set(results)
        return statements

    def _inside(self, kind, statements):
        """The statements of a body, whose own variables end with it."""
        outer = set(self.bound)
        self.around.append((kind, False))
        body = self.block(statements)
        self.around.pop()
        self.bound = outer
        return body

    def visit_While(self, node):
        test, options = self._hint(node.test)
        if self._is_scalar(options) or isinstance(test, ast.Constant):
            node.test = test
            self.around.append(("loop", True))
            bound = _names([node])[1]
            self.generic_visit(node)
            self.around.pop()
            self.bound |= bound
            return node
        if node.orelse:
            self._forbid(node.orelse[0], "else")
        loads, stores = _names([test] + node.body)
        state = self._adjust((loads | stores) & self.bound, options)
        self.count += 1
        cond, body = f"_loop_cond_{self.count}", f"_loop_body_{self.count}"
        functions = [self._function(cond, state, [ast.Return(test)]),
                     self._function(body, state, self._inside("loop", node.body) +
                                    [ast.Return(self._tuple(state, ast.Load))])]
        return self._call(node, "while_loop", functions,
                          [self._tuple(state, ast.Load), ast.Name(cond, ast.Load()), ast.Name(body, ast.Load()),
                           self._labels(state)], state, self._keywords(options))

    def visit_If(self, node):
        test, options = self._hint(node.test)
        if self._is_scalar(options):
            node.test = test
            self.around.append(("if", True))
            outer, bound = set(self.bound), _assigned([node])
            self.generic_visit(node)
            self.around.pop()
            self.bound = outer | bound
            return node
        loads, stores = _names(node.body + node.orelse)
        args = self._adjust((loads | stores) & self.bound, options)
        both = _assigned(node.body) & _assigned(node.orelse)
        results = self._adjust(set(args) | both, options)
        self.count += 1
        true, false = f"_if_true_{self.count}", f"_if_false_{self.count}"
        out = [ast.Return(self._tuple(results, ast.Load))]
        functions = [self._function(true, args, self._inside("if", node.body) + out),
                     self._function(false, args, self._inside("if", node.orelse) + out)]
        return self._call(node, "if_stmt", functions,
                          [self._tuple(args, ast.Load), test, ast.Name(true, ast.Load()), ast.Name(false, ast.Load()),
                           self._labels(args), self._labels(results)], results,
                          self._keywords(options, leave=("max_iterations", "compress")))


def _check_order(f):
    """Wrappers of other decorators have nothing to rewrite."""
    package = os.path.dirname(os.path.abspath(__file__))
    if not isinstance(f, types.FunctionType) or os.path.abspath(f.__code__.co_filename).startswith(package + os.sep) or \
            f.__module__.startswith(("_pytest", "pytest")):
        raise RuntimeError(f"@syntax: {getattr(f, '__name__', f)} has been wrapped by another decorator; they are in the "
                           "wrong order. Write @syntax directly above the function")


def syntax(f=None, *, recursive=False, print_ast=False, print_code=False):
    """Decorator: `while` and `if` in the function may have conditions that are arrays. They are recorded; those of
    Python's own run as ever. See hint().

    recursive: functions inside of it, too; print_ast, print_code: shows what it becomes."""
    if f is None:
        return lambda g: syntax(g, recursive=recursive, print_ast=print_ast, print_code=print_code)
    _check_order(f)
    try:
        lines, first = inspect.getsourcelines(f)
    except (OSError, TypeError):
        raise RuntimeError(f"@syntax: the source of {getattr(f, '__name__', f)} cannot be found; define it in a file"
                           ) from None
    tree = ast.parse(textwrap.dedent("".join(lines)))
    definition = tree.body[0]
    if not isinstance(definition, ast.FunctionDef):
        raise TypeError("@syntax decorates functions")
    # Defaults and annotations were evaluated where the function is defined; ours gets those of the original
    definition.decorator_list, definition.returns = [], None
    a = definition.args
    for x in (*a.posonlyargs, *a.args, *a.kwonlyargs, *(v for v in (a.vararg, a.kwarg) if v)):
        x.annotation = None
    a.defaults = [ast.Constant(None) for _ in a.defaults]
    a.kw_defaults = [None if d is None else ast.Constant(None) for d in a.kw_defaults]
    filename = inspect.getsourcefile(f) or "<unknown>"
    ast.increment_lineno(tree, first - 1)
    transformer = _Transformer(_parameters(definition), filename, recursive)
    definition.body = transformer.block(definition.body)
    # Names of the surrounding functions stay what they are: a wrapper has them as its own
    free = list(f.__code__.co_freevars) + ["_umbel_syntax"]
    wrapper = transformer._function("_umbel_outer", free, [definition, ast.Return(ast.Name(definition.name, ast.Load()))])
    module = ast.Module([wrapper], [])
    ast.copy_location(wrapper, definition)
    ast.fix_missing_locations(module)
    if print_ast:
        print(ast.dump(module, indent=4))
    if print_code:
        print(ast.unparse(definition))
    namespace = {}
    exec(compile(module, filename, "exec"), f.__globals__, namespace)
    inner = namespace["_umbel_outer"](*([None] * len(free)))
    helpers = types.SimpleNamespace(while_loop=while_loop, if_stmt=if_stmt)
    cells = dict(zip(f.__code__.co_freevars, f.__closure__ or ()))
    cells["_umbel_syntax"] = types.CellType(helpers)
    closure = tuple(cells[name] for name in inner.__code__.co_freevars)
    result = types.FunctionType(inner.__code__, f.__globals__, f.__name__, f.__defaults__, closure)
    result.__kwdefaults__ = f.__kwdefaults__
    result.__dict__.update(f.__dict__)
    result.__doc__, result.__module__, result.__qualname__ = f.__doc__, f.__module__, f.__qualname__
    result.__annotations__ = f.__annotations__
    result.__wrapped__ = f
    return result
