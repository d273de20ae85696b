# jit/ast.py: @syntax turns `while` and `if` over arrays into recorded loops and conditionals.
#
#     while cond: body     becomes     a, b = while_loop((a, b), lambda a, b: cond, body(a, b) -> (a, b))
#
# The state is what the statement mentions of the function's local variables that were bound before it. What is
# assigned inside only is a temporary and ends with the statement.
import ast
import inspect
import textwrap
import types

from ._control import if_stmt, while_loop


class HintError(SyntaxError):
    pass


def hint(arg, *, mode=None, max_iterations=None, label=None, include=None, exclude=None, strict=True):
    """Options of a statement under @syntax: `while hint(i < n, mode="evaluated"): ...`"""
    return arg


def _names(nodes):
    """Names that a piece of code loads and stores; names whose object it may change count as both."""
    loads, stores = set(), set()
    for root in nodes:
        for n in ast.walk(root):
            if isinstance(n, ast.Name):
                (loads if isinstance(n.ctx, ast.Load) else stores).add(n.id)
            elif isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name):
                loads.add(n.target.id)
            elif isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef)):
                stores.add(n.name)
            if isinstance(n, (ast.Attribute, ast.Subscript)) and isinstance(n.ctx, ast.Store):
                base = n.value
                while isinstance(base, (ast.Attribute, ast.Subscript)):
                    base = base.value
                if isinstance(base, ast.Name):
                    loads.add(base.id)
    return loads, stores


def _changed(nodes):
    """Names whose objects a piece of code may change in place: targets of x.a = ..., x[i] = ..., x.method(...)."""
    out = set()
    for root in nodes:
        for n in ast.walk(root):
            base = None
            if isinstance(n, (ast.Attribute, ast.Subscript)) and isinstance(n.ctx, ast.Store):
                base = n.value
            elif isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute):
                base = n.func.value
            while isinstance(base, (ast.Attribute, ast.Subscript)):
                base = base.value
            if isinstance(base, ast.Name):
                out.add(base.id)
            if isinstance(n, ast.Call):  # a function may change the objects that it is given
                for a in list(n.args) + [k.value for k in n.keywords]:
                    if isinstance(a, ast.Name):
                        out.add(a.id)
    return out


def _leaves_statement(body, loops=True):
    """Whether break, continue, return... inside would leave the statement."""
    for n in body:
        if isinstance(n, (ast.Return, ast.Yield, ast.Raise)):
            return n
        if isinstance(n, (ast.Break, ast.Continue)) and loops:
            return n
        if isinstance(n, ast.Expr) and isinstance(n.value, (ast.Yield, ast.YieldFrom)):
            return n
        if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            continue
        inner = loops and not isinstance(n, (ast.For, ast.While))
        for field in ("body", "orelse", "finalbody", "handlers"):
            part = getattr(n, field, None)
            if isinstance(part, list) and part:
                found = _leaves_statement([h for h in part], inner)
                if found:
                    return found
    return None


class _Transformer(ast.NodeTransformer):
    def __init__(self, arguments, filename):
        self.bound = set(arguments)
        self.filename = filename
        self.count = 0

    # ---- what is bound so far
    def _bind(self, node):
        self.bound |= _names([node])[1]

    def _block(self, statements):
        out = []
        for s in statements:
            r = self.visit(s)
            out += r if isinstance(r, list) else [r]
            self._bind(s)
        return out

    def generic_visit(self, node):
        for field in ("body", "orelse", "finalbody"):
            part = getattr(node, field, None)
            if isinstance(part, list):
                if isinstance(node, (ast.For, ast.AsyncFor)) and field == "body":
                    self.bound |= _names([node.target])[1]
                if isinstance(node, ast.With) and field == "body":
                    for item in node.items:
                        if item.optional_vars is not None:
                            self.bound |= _names([item.optional_vars])[1]
                setattr(node, field, self._block(part))
        for h in getattr(node, "handlers", []) or []:
            h.body = self._block(h.body)
        return node

    def visit_FunctionDef(self, node): return node  # inner functions are left alone
    def visit_AsyncFunctionDef(self, node): return node
    def visit_ClassDef(self, node): return node
    def visit_Lambda(self, node): return node

    # ---- the statements
    def _hint(self, test):
        """The condition without hint(...), and its options."""
        if isinstance(test, ast.Call):
            f = test.func
            name = f.id if isinstance(f, ast.Name) else f.attr if isinstance(f, ast.Attribute) else ""
            if name == "hint" and test.args:
                options = {k.arg: k.value for k in test.keywords}
                return test.args[0], options
        return test, {}

    def _options(self, options):
        out = []
        for key in ("mode", "label", "max_iterations"):
            if key in options:
                out.append(ast.keyword(key, options[key]))
        return out

    def _listed(self, node):
        return [e.id for e in getattr(node, "elts", []) if isinstance(e, ast.Name)]

    def _function(self, name, parameters, body):
        args = ast.arguments(posonlyargs=[], args=[ast.arg(p) for p in parameters], kwonlyargs=[], kw_defaults=[],
                             defaults=[])
        return ast.FunctionDef(name, args, body, [], None, None, type_params=[]) if hasattr(ast, "TypeVar") else \
            ast.FunctionDef(name, args, body, [], None, None)

    def _tuple(self, names, ctx):
        return ast.Tuple([ast.Name(n, ctx()) for n in names], ctx())

    def _labels(self, names): return ast.Tuple([ast.Constant(n) for n in names], ast.Load())

    def _helper(self, name): return ast.Attribute(ast.Name("_umbel_syntax", ast.Load()), name, ast.Load())

    def _call_target(self, names, call):
        if not names:
            return ast.Expr(call)
        return ast.Assign([self._tuple(names, ast.Store)], call)

    def visit_While(self, node):
        test, options = self._hint(node.test)
        mode = options.get("mode")
        scalar = isinstance(mode, ast.Constant) and mode.value == "scalar"
        constant = isinstance(test, ast.Constant)
        if scalar or constant:
            node.test = test
            return self.generic_visit(node)
        leaving = _leaves_statement(node.body)
        if leaving is not None or node.orelse:
            line = getattr(leaving, "lineno", node.lineno)
            kind = type(leaving).__name__.lower() if leaving is not None else "else"
            raise HintError(f"{self.filename}:{line}: '{kind}' in a while loop under @syntax is not possible; put it "
                            "into the condition, or write `while hint(cond, mode=\"scalar\")` for a loop of Python's")
        loads, stores = _names([test] + node.body)
        state = sorted((loads | stores) & self.bound)
        state = self._adjust(state, options)
        self.count += 1
        k = self.count
        outer = set(self.bound)
        body = self._block(node.body)
        self.bound = outer
        cond_fn = self._function(f"_loop_cond_{k}", state, [ast.Return(test)])
        body_fn = self._function(f"_loop_body_{k}", state, body + [ast.Return(self._tuple(state, ast.Load))])
        call = ast.Call(self._helper("while_loop"),
                        [self._tuple(state, ast.Load), ast.Name(cond_fn.name, ast.Load()),
                         ast.Name(body_fn.name, ast.Load()), self._labels(state)], self._options(options))
        return self._finish(node, [cond_fn, body_fn, self._call_target(state, call)])

    def visit_If(self, node):
        test, options = self._hint(node.test)
        mode = options.get("mode")
        node.test = test
        if isinstance(mode, ast.Constant) and mode.value == "scalar" or \
                _leaves_statement(node.body) or _leaves_statement(node.orelse):
            return self.generic_visit(node)
        loads, stores = _names(node.body + node.orelse)
        args = sorted((loads | stores) & self.bound)
        both = _names(node.body)[1] & _names(node.orelse)[1]
        results = sorted((stores & self.bound) | both | (_changed(node.body + node.orelse) & self.bound))
        args, results = self._adjust(args, options), self._adjust(results, options)
        self.count += 1
        k = self.count
        outer = set(self.bound)
        then_body = self._block(node.body)
        self.bound = set(outer)
        else_body = self._block(node.orelse)
        self.bound = outer
        out = [ast.Return(self._tuple(results, ast.Load))]
        true_fn = self._function(f"_if_true_{k}", args, then_body + out)
        false_fn = self._function(f"_if_false_{k}", args, else_body + out)
        call = ast.Call(self._helper("if_stmt"),
                        [self._tuple(args, ast.Load), test, ast.Name(true_fn.name, ast.Load()),
                         ast.Name(false_fn.name, ast.Load()), self._labels(args), self._labels(results)],
                        [o for o in self._options(options) if o.arg != "max_iterations"])
        return self._finish(node, [true_fn, false_fn, self._call_target(results, call)])

    def _adjust(self, names, options):
        names = set(names)
        if "exclude" in options:
            names -= set(self._listed(options["exclude"]))
        if "include" in options:
            names |= set(self._listed(options["include"]))
        return sorted(names)

    def _finish(self, node, statements):
        for s in statements:
            ast.copy_location(s, node)
            ast.fix_missing_locations(s)
        return statements


def syntax(f=None, print_ast=False, print_code=False):
    """Decorator: `while` and `if` in the function may have conditions that are arrays. They are recorded; those of
    Python's own run as ever. See hint()."""
    if f is None:
        return lambda g: syntax(g, print_ast, print_code)
    try:
        lines, first = inspect.getsourcelines(f)
    except (OSError, TypeError):
        raise RuntimeError(f"@syntax: the source of {getattr(f, '__name__', f)} cannot be found; define it in a file"
                           ) from None
    tree = ast.parse(textwrap.dedent("".join(lines)))
    definition = tree.body[0]
    if not isinstance(definition, ast.FunctionDef):
        raise TypeError("@syntax decorates functions")
    definition.decorator_list = []
    filename = inspect.getsourcefile(f) or "<unknown>"
    a = definition.args
    arguments = [x.arg for x in a.posonlyargs + a.args + a.kwonlyargs]
    arguments += [x.arg for x in (a.vararg, a.kwarg) if x is not None]
    ast.increment_lineno(tree, first - 1)
    transformer = _Transformer(arguments, filename)
    definition.body = transformer._block(definition.body)
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
