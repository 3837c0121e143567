"""Areas and intervals as text that says neither more nor less than the numbers."""

__all__ = ["auc_text", "gap_text", "interval_text", "p_text"]

_MOST_DIGITS = 12


def auc_text(value: float, digits: int = 4) -> str:
    """Write a number of [0, 1] so that it reads 0 or 1 only where it is.

    Parameters
    ----------
    value : float
        From 0 to 1.
    digits : int
        Decimals, as long as these are enough.

    Returns
    -------
    str
        Such as ``0.9876``, or ``0.99998`` where four decimals would read 1.
    """
    while digits < _MOST_DIGITS and 0.0 < value < 1.0 and float(f"{value:.{digits}f}") in (0, 1):
        digits += 1
    return f"{value:.{digits}f}"


def interval_text(low: float, high: float) -> str:
    """Write an interval, with as many decimals as it takes not to look empty.

    Parameters
    ----------
    low, high : float
        Its ends, from 0 to 1.

    Returns
    -------
    str
        Such as ``0.9734 to 0.9953``.
    """
    digits = 4
    while digits < _MOST_DIGITS and f"{low:.{digits}f}" == f"{high:.{digits}f}":
        digits += 1
    return f"{auc_text(low, digits)} to {auc_text(high, digits)}"


def p_text(p_value: float) -> str:
    """Write a p-value: two decimals, and more where these would hide how small it is.

    Parameters
    ----------
    p_value : float
        From 0 to 1.

    Returns
    -------
    str
        Such as ``0.30``, ``0.051`` or ``1.2e-09``.
    """
    return f"{p_value:.2f}" if p_value >= 0.095 else f"{p_value:.2g}"


def gap_text(value: float) -> str:
    """Write a relative gap; rounding errors are not shown as if they were measured.

    Parameters
    ----------
    value : float
        A difference relative to the optimum.

    Returns
    -------
    str
        Such as ``3.4e-05`` or ``< 1e-14``.
    """
    return "< 1e-14" if abs(value) < 1e-14 else f"{value:.1e}"
