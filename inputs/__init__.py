"""What users give, checked before anything is made of it: arguments of calls, and YAML files.

checks.py      arguments: numbers, texts, paths, lists
plain_yaml.py  which YAML is read at all
"""
