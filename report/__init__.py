"""Results for people: texts, tables and the annotated loop nest."""
