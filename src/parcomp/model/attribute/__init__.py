"""Attributes: the finite sets whose product is the domain (paper §2.1), a module for each kind.

Each kind turns its values into codes ``0 … size-1`` and back, and the three ways in which a predicate names values (a
scalar, a range, null) into codes.  Null, where an attribute has it, is the last code.
"""

from parcomp.model.attribute.base import Attribute, Numeric, Scale, Value
from parcomp.model.attribute.binned import Binned
from parcomp.model.attribute.categorical import Categorical
from parcomp.model.attribute.dated import Dated
from parcomp.model.attribute.exact import Number
from parcomp.model.attribute.integer import Integer
from parcomp.model.attribute.level import Level
from parcomp.model.attribute.stepped import Stepped
from parcomp.model.attribute.time_units import Moment, Unit

__all__ = [
    "Attribute",
    "Binned",
    "Categorical",
    "Dated",
    "Integer",
    "Level",
    "Moment",
    "Number",
    "Numeric",
    "Scale",
    "Stepped",
    "Unit",
    "Value",
]
