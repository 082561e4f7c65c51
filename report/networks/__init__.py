"""Plans of whole networks: groups, memory, layouts, as text, pictures and pages."""
