"""Fronts of energy and latency: the points that no other one dominates, of mappings, of trees and of networks.

front.py      points that no other dominates, and one after the other
weights.py    weighted sums of the two, and regions of what is still of interest
regions.py    lines below which nothing lies, and what they leave open
supported.py  supported points: the least of weighted sums, one after the other
"""
