"""The one place that sees both solids and grid: shapes and motions become arrays, once per step."""

from paddlewheel.measure.body_faces import carried
from paddlewheel.measure.lattice import liquid_distance, node_distance, refine_volumes
from paddlewheel.measure.push_out import HAIR
from paddlewheel.measure.solids import Solids, measure
from paddlewheel.measure.thickness import thickness

__all__ = ["HAIR", "Solids", "carried", "liquid_distance", "measure", "node_distance", "refine_volumes", "thickness"]
