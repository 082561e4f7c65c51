"""The layouts of a network's tensors in the outermost memory: one for each, and conversions where layers disagree.

stored.py       which tensors are one, and which layouts each may have
elimination.py  the least sum of terms that have a few variables each
layer_searches.py  what each layer costs with which layouts, as far as searches have told
exact_searches.py  those searches, and what is taken where there is no time for one
planning.py     the best choice for all layers
products.py     the same for products of energy and latency, by weighted sums
"""

from .exact_searches import ExactSearches
from .layer_searches import LayerFound
from .planning import Conversion, LayerLayouts, LayoutPlan, PlanProduct
from .products import plan_layouts

__all__ = ["Conversion", "ExactSearches", "LayerFound", "LayerLayouts", "LayoutPlan", "PlanProduct", "plan_layouts"]
