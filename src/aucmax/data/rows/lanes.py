"""Eight numbers at a time: a row of a table with eight columns as one vector of the processor.

The compiler makes such vectors for sums along the entries of a dense row. For several columns at
a time, vectors across the columns serve dense and CSR rows, and take half as long.
"""

from typing import Any

import numpy as np

from aucmax.data.rows.kernels import INLINE, instructions

__all__ = ["LANES", "lanes_at", "plus_times", "put_lanes"]

LANES = 8  # columns of a table: the float64 numbers of a cache line


def lanes_at(table, i):
    """Return row i of a C-contiguous float64 table (n, 8)."""
    return table[i].copy()


def plus_times(total, x, lanes):
    """Return total + x · lanes, for a number x."""
    return total + np.float64(x) * lanes


def put_lanes(table, i, lanes):
    """Set row i of a C-contiguous float64 table (n, 8)."""
    table[i] = lanes


@instructions(lanes_at, plus_times, put_lanes)
def _register() -> None:
    from llvmlite import ir
    from numba.core import types
    from numba.extending import intrinsic, models, overload, register_model

    class Lanes(types.Type):
        def __init__(self):
            super().__init__("Lanes")

    @register_model(Lanes)
    class _Model(models.PrimitiveModel):
        def __init__(self, manager, kind):
            super().__init__(manager, kind, vector)

    number = ir.IntType(32)
    vector, firsts = (ir.VectorType(of, LANES) for of in (ir.DoubleType(), number))
    lanes_type = Lanes()

    def place(context, builder, kind, table, i):
        data = context.make_array(kind)(context, builder, table).data
        first = builder.mul(i, ir.Constant(i.type, LANES))
        return builder.bitcast(builder.gep(data, [first]), ir.PointerType(vector))

    def load(typing, table, i):
        def generate(context, builder, signature, arguments):
            return builder.load(place(context, builder, signature.args[0], *arguments), align=8)

        return lanes_type(table, i), generate

    def store(typing, table, i, lanes):
        def generate(context, builder, signature, arguments):
            *where, lanes = arguments
            builder.store(lanes, place(context, builder, signature.args[0], *where), align=8)

        return types.void(table, i, lanes), generate

    def multiply_and_add(typing, total, x, lanes):
        def generate(context, builder, signature, arguments):
            total, x, lanes = arguments
            x_first = builder.insert_element(ir.Constant(vector, None), x, number(0))
            all_x = builder.shuffle_vector(x_first, x_first, ir.Constant(firsts, None))
            product = builder.fmul(all_x, lanes, flags=("contract",))
            return builder.fadd(total, product, flags=("contract",))

        return lanes_type(total, types.float64, lanes), generate

    at: Any = intrinsic(load)
    put: Any = intrinsic(store)
    plus: Any = intrinsic(multiply_and_add)
    overload(lanes_at, jit_options=INLINE)(lambda table, i: lambda table, i: at(table, i))
    overload(put_lanes, jit_options=INLINE)(
        lambda table, i, lanes: lambda table, i, lanes: put(table, i, lanes)
    )
    overload(plus_times, jit_options=INLINE)(
        lambda total, x, lanes: lambda total, x, lanes: plus(total, np.float64(x), lanes)
    )
