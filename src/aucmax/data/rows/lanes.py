"""Eight numbers at a time: a row of a table with eight columns as one vector of the processor.

The compiler makes such vectors for sums along the entries of a dense row. For several columns at
a time, vectors across the columns serve dense and CSR rows, and halve the time.
"""

import numpy as np

from aucmax.data.rows.kernels import instructions

__all__ = ["LANES", "clear_lanes", "lanes_at", "plus_times", "put_lanes"]

LANES = 8  # columns of a table: the float64 numbers of a cache line


def clear_lanes(table):
    """Set a C-contiguous table to zero, in one instruction where a slice takes hundreds."""
    table[:] = 0.0


def lanes_at(table, i):
    """Return row i of a C-contiguous float64 table (n, 8)."""
    return table[i].copy()


def plus_times(total, x, lanes):
    """Return total + x · lanes, for a number x."""
    return total + np.float64(x) * lanes


def put_lanes(table, i, lanes):
    """Set row i of a C-contiguous float64 table (n, 8)."""
    table[i] = lanes


@instructions(clear_lanes, lanes_at, plus_times, put_lanes)
def _register() -> None:
    from llvmlite import ir
    from numba.core import cgutils, types
    from numba.extending import lower_builtin, models, register_model, type_callable

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
    type_callable(clear_lanes)(lambda context: lambda table: types.none)
    type_callable(lanes_at)(lambda context: lambda table, i: lanes_type)
    type_callable(plus_times)(lambda context: lambda total, x, lanes: lanes_type)
    type_callable(put_lanes)(lambda context: lambda table, i, lanes: types.none)

    def place(context, builder, kind, table, i):
        data = context.make_array(kind)(context, builder, table).data
        first = builder.mul(i, ir.Constant(i.type, LANES))
        return builder.bitcast(builder.gep(data, [first]), ir.PointerType(vector))

    @lower_builtin(clear_lanes, types.Array)
    def clear(context, builder, signature, arguments):
        table = context.make_array(signature.args[0])(context, builder, arguments[0])
        cgutils.memset(builder, table.data, builder.mul(table.nitems, table.itemsize), 0)
        return context.get_dummy_value()

    @lower_builtin(lanes_at, types.Array, types.Integer)
    def load(context, builder, signature, arguments):
        return builder.load(place(context, builder, signature.args[0], *arguments), align=8)

    @lower_builtin(put_lanes, types.Array, types.Integer, Lanes)
    def store(context, builder, signature, arguments):
        *where, lanes = arguments
        builder.store(lanes, place(context, builder, signature.args[0], *where), align=8)
        return context.get_dummy_value()

    @lower_builtin(plus_times, Lanes, types.Float, Lanes)
    def multiply_and_add(context, builder, signature, arguments):
        total, x, lanes = arguments
        x = context.cast(builder, x, signature.args[1], types.float64)
        x_first = builder.insert_element(ir.Constant(vector, None), x, number(0))
        all_x = builder.shuffle_vector(x_first, x_first, ir.Constant(firsts, None))
        product = builder.fmul(all_x, lanes, flags=("contract",))
        return builder.fadd(total, product, flags=("contract",))
