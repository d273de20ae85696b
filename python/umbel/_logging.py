# umbel/_logging.py: messages, which go to Python's logger "umbel", and where files are looked for.
import enum
import logging
import os
import pathlib
import time


class LogLevel(enum.IntEnum):
    """How much a message matters; the values are those of Python's logging."""
    Trace, Debug, Info, Warn, Error = 5, 10, 20, 30, 40


logging.addLevelName(5, "TRACE")
_log = logging.getLogger("umbel")
_log.addHandler(logging.NullHandler())


class Formatter:
    """Makes a line of a message."""

    def format(self, level, class_name, thread, file, line=0, message=""):
        stamp = time.strftime("%Y-%m-%d %H:%M:%S")
        return f"{stamp} {LogLevel(level).name.upper():5s} {class_name or 'umbel'}: {message}"


class DefaultFormatter(Formatter):
    pass


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
        level = max((l for l in LogLevel if l <= max(record.levelno, 5)), default=LogLevel.Trace)
        text = self._logger._formatter.format(level, record.name, None, record.filename, record.lineno,
                                              record.getMessage())
        self.appender.append(level, text)


class Logger:
    """Umbel's logger; what it gets goes through Python's logger of the name "umbel"."""

    def __init__(self, level=LogLevel.Warn):
        self._formatter, self._handlers, self._error = DefaultFormatter(), [], LogLevel.Error
        self.set_log_level(level)

    def log_level(self): return max((l for l in LogLevel if l <= _log.getEffectiveLevel()), default=LogLevel.Trace)
    def set_log_level(self, level): _log.setLevel(int(level))
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
        _log.log(int(level), message, stacklevel=3)

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


_logger, _resolver = Logger(), FileResolver()


def logger(): return _logger
def file_resolver(): return _resolver
def log_level(): return _logger.log_level()
def set_log_level(level):
    """Messages of less importance are dropped."""
    _logger.set_log_level(level)


def Log(level, message):
    """Sends a message; one of LogLevel.Error becomes a RuntimeError."""
    _logger.log(level, message)


def set_logger(logger):
    global _logger
    _logger = logger


def set_file_resolver(resolver):
    global _resolver
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
