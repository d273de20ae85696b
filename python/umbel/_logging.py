# umbel/_logging.py: messages, which go to Python's logger "umbel", and where files are looked for.
import logging
import os
import pathlib
import threading
import time
from .jit._enum import NamedInt


class LogLevel(NamedInt):
    """How much a message matters."""
    Trace, Debug, Info, Warn, Error = 0, 100, 200, 300, 400

    def __repr__(self): return f"LogLevel.{self.name}"
    __str__ = __repr__


def _python_level(level): return max(5, int(level) // 10)  # Python's logging counts in tens
def _level(python): return max((l for l in LogLevel if _python_level(l) <= max(python, 5)), default=LogLevel.Trace)


logging.addLevelName(5, "TRACE")
_log = logging.getLogger("umbel")
_log.addHandler(logging.NullHandler())


class Formatter:
    """Makes a line of a message; subclasses say how."""

    def format(self, level, cname, fname, line, msg): return msg


class DefaultFormatter(Formatter):
    """Date, level, class or file, and message."""

    def __init__(self): self._date = self._level = self._class = self._thread = True

    def format(self, level, cname, fname, line, msg):
        parts = [time.strftime("%Y-%m-%d %H:%M:%S")] if self._date else []
        if self._level:
            parts.append(f"{LogLevel(level).name.upper():5s}")
        if self._class:
            parts.append(f"[{cname}]" if cname else f"[{os.path.basename(fname)}:{line}]")
        return " ".join([*parts, msg])

    def has_date(self): return self._date
    def set_has_date(self, value): self._date = bool(value)
    def has_log_level(self): return self._level
    def set_has_log_level(self, value): self._level = bool(value)
    def has_class(self): return self._class
    def set_has_class(self, value): self._class = bool(value)
    def has_thread(self): return self._thread
    def set_has_thread(self, value): self._thread = bool(value)


class Appender:
    """Receives messages; subclasses say what becomes of them."""

    def append(self, level, text): pass
    def log_progress(self, progress, name, formatted, eta, ptr=None): pass


class StreamAppender(Appender):
    """Writes messages to a file, given by its name or open."""

    def __init__(self, target):
        self._name = target if isinstance(target, (str, os.PathLike)) else None
        self._file = open(target, "w+") if self._name else target

    def append(self, level, text): print(text, file=self._file, flush=True)
    def logs_to_file(self): return self._name is not None

    def read_log(self):
        """All that was written to the file."""
        self._file.seek(0)
        return self._file.read()


class _Forward(logging.Handler):
    """Hands Python's records to an appender."""

    def __init__(self, logger, appender):
        super().__init__()
        self.appender, self._logger = appender, logger

    def emit(self, record):
        level, message = _level(record.levelno), record.getMessage()
        if record.funcName and not record.funcName.startswith("<"):
            message = f"{record.funcName}(): {message}"
        text = self._logger._formatter.format(level, None, record.pathname, record.lineno, message)
        self.appender.append(level, text)


class Logger:
    """Umbel's logger; what it gets goes through Python's logger of the name "umbel"."""

    def __init__(self, level=LogLevel.Warn):
        self._formatter, self._handlers, self._error = DefaultFormatter(), [], LogLevel.Error
        self.set_log_level(level)

    def log_level(self): return _level(_log.getEffectiveLevel())
    def set_log_level(self, level): _log.setLevel(_python_level(level))
    def error_level(self): return self._error
    def set_error_level(self, level): self._error = LogLevel(level)
    def formatter(self): return self._formatter
    def set_formatter(self, formatter): self._formatter = formatter
    def appender_count(self): return len(self._handlers)
    def appender(self, i): return self._handlers[i].appender

    def add_appender(self, appender):
        self._handlers.append(_Forward(self, appender))
        _log.addHandler(self._handlers[-1])

    def remove_appender(self, appender):
        for h in [h for h in self._handlers if h.appender is appender]:
            self._handlers.remove(h)
            _log.removeHandler(h)

    def clear_appenders(self):
        for h in list(self._handlers):
            self.remove_appender(h.appender)

    def log(self, level, message):
        if level >= self._error:
            raise RuntimeError(message)
        _log.log(_python_level(level), message, stacklevel=3)

    def log_progress(self, progress, name, formatted, eta, ptr=None):
        for h in self._handlers:
            h.appender.log_progress(progress, name, formatted, eta, ptr)

    def read_log(self):
        for h in self._handlers:
            if isinstance(h.appender, StreamAppender) and h.appender.logs_to_file():
                return h.appender.read_log()
        raise RuntimeError("read_log(): no appender writes to a file")


class FileResolver:
    """Folders in which files are looked for, the first one first."""

    def __init__(self, other=None): self._paths = [pathlib.Path(".")] if other is None else list(other._paths)

    def resolve(self, path):
        """The file in the first folder that has it; else the path as it is."""
        path = pathlib.Path(path)
        if not path.is_absolute():
            for folder in self._paths:
                if (folder / path).exists():
                    return folder / path
        return path

    def append(self, path): self._paths.append(pathlib.Path(path))
    def prepend(self, path): self._paths.insert(0, pathlib.Path(path))
    def clear(self): self._paths.clear()
    def __len__(self): return len(self._paths)
    def __iter__(self): return iter(self._paths)
    def __getitem__(self, i): return self._paths[i]
    def __setitem__(self, i, path): self._paths[i] = pathlib.Path(path)
    def __delitem__(self, i): del self._paths[i]
    def __contains__(self, path): return pathlib.Path(path) in self._paths
    def __repr__(self): return "FileResolver[\n" + "".join(f"  \"{p}\"\n" for p in self._paths) + "]"


_logger, _resolver, _local = Logger(), FileResolver(), threading.local()


def logger():
    """The logger that messages go to."""
    return _logger


def file_resolver():
    """That of the calling thread: threads other than the main one have copies, which they may change."""
    if threading.current_thread() is threading.main_thread():
        return _resolver
    if getattr(_local, "source", None) is not _resolver:
        _local.source, _local.resolver = _resolver, FileResolver(_resolver)
    return _local.resolver


def log_level():
    """Down to which level messages are shown."""
    return _logger.log_level()


def set_log_level(level):
    """Messages of less importance are dropped."""
    _logger.set_log_level(level)


def Log(level, msg):
    """Sends a message; one of LogLevel.Error becomes a RuntimeError."""
    _logger.log(level, msg)


def set_logger(logger):
    """Sends messages to this logger."""
    global _logger
    _logger = logger


def set_file_resolver(resolver):
    """Finds files by this resolver from now on."""
    global _resolver
    if threading.current_thread() is not threading.main_thread():
        _local.source, _local.resolver = _resolver, resolver
        return
    _resolver = resolver


class Thread:
    """The calling thread: what scripts ask it for is the same for all."""
    _the_one = None

    @staticmethod
    def thread():
        if Thread._the_one is None:
            Thread._the_one = Thread()
        return Thread._the_one

    file_resolver, logger = staticmethod(file_resolver), staticmethod(logger)
    set_file_resolver, set_logger = staticmethod(set_file_resolver), staticmethod(set_logger)

    @staticmethod
    def wait_for_tasks():
        """Until all files of Bitmap.write_async() are written."""
        from ._bitmap import wait_for_tasks
        wait_for_tasks()


class ScopedSetThreadEnvironment:
    """For scripts that hand it to threads: there is nothing to set."""

    def __init__(self, environment=None): pass
    def __enter__(self): return self
    def __exit__(self, *exc): return False


ThreadEnvironment = ScopedSetThreadEnvironment


class Timer:
    """Milliseconds since it was made or reset."""

    def __init__(self): self._stages = {}; self.reset()
    def value(self): return int(1000 * (time.perf_counter() - self._start))

    def reset(self):
        value = self.value() if hasattr(self, "_start") else 0
        self._start = time.perf_counter()
        return value

    def begin_stage(self, name):
        _log.info("%s ...", name)
        self._stages[name] = time.perf_counter()

    def end_stage(self, name):
        _log.info("%s: done (took %.0f ms)", name, 1000 * (time.perf_counter() - self._stages.pop(name)))


__all__ = ["LogLevel", "Formatter", "DefaultFormatter", "Appender", "StreamAppender", "Logger", "FileResolver", "logger",
           "file_resolver", "log_level", "set_log_level", "Log", "set_logger", "set_file_resolver", "Thread",
           "ScopedSetThreadEnvironment", "ThreadEnvironment", "Timer"]
