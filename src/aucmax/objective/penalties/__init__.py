"""Penalties: functions of the coefficients, added to the data term of J. They never see X."""

from aucmax.objective.penalties.base import Penalty, Pieces, prox1, prox1_of
from aucmax.objective.penalties.by_feature import Bounded, Weighted
from aucmax.objective.penalties.elastic_net import L1, L2, ElasticNet, L2Ball, soft
from aucmax.objective.penalties.mcp import MCP

__all__ = [
    "L1",
    "L2",
    "MCP",
    "PENALTIES",
    "Bounded",
    "ElasticNet",
    "L2Ball",
    "Penalty",
    "Pieces",
    "Weighted",
    "prox1",
    "prox1_of",
    "soft",
]

PENALTIES: dict[str, type[Penalty]] = {
    penalty.name: penalty for penalty in (L2, L1, ElasticNet, MCP, Weighted, Bounded)
}
