"""What the package itself uses: functions that are called when the variant changes."""
_callbacks = []


def add_variant_callback(callback):
    """From now on `callback(old, new)` is called when the variant changes; the same one is added once."""
    if callback not in _callbacks:
        _callbacks.append(callback)


def remove_variant_callback(callback):
    """The opposite; nothing happens where there is no such callback."""
    if callback in _callbacks:
        _callbacks.remove(callback)


def clear_variant_callbacks():
    """Forgets all of them."""
    _callbacks.clear()


def variant_changed(old, new):
    """Tells everyone, if there is a change."""
    if old != new:
        for callback in list(_callbacks):
            callback(old, new)
