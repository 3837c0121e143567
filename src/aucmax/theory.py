"""The papers' constants, rates and conversions as functions.

Symbols: p is the share of positives, M ≥ max‖x‖, β the strong convexity of the penalty (β/2)‖w‖²
on the papers' scale, η a step size, m the number of inner steps of a VRSPAM stage. For OPAUC, T is
the number of steps, λ the strength of the penalty (our α), B ≥ ‖w*‖, and L an upper bound on the
mean loss at w*. For SADMM, v = (w, z, μ) and ρ is the penalty parameter.

Sources: SPAM, Natole, Ying & Lyu (ICML 2018); VRSPAM, Dan & Sahoo; OPAUC, Gao, Jin, Zhu & Zhou
(ICML 2013); SADMM, Tao, Gao, Chu & Wu (TNNLS 2014). docs/notes_on_the_papers.md explains where we
correct them.
"""

from aucmax.solvers.theory import *  # noqa: F403
from aucmax.solvers.theory import __all__ as __all__
